#include "tests/processes/worker_storm.hpp"

#include <fmt/format.h>

#include <array>
#include <deque>
#include <memory>
#include <random>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/perf/data.hpp"
#include "runtime/config/config.hpp"

namespace lacuna::test {
namespace {

constexpr std::size_t most_in_flight = 300;
constexpr std::size_t furthest_ahead = 100;  // operations that one communicator may be ahead of the other

/// What all ranks draw alike.
struct Operation {
  std::size_t group = 0;  ///< 0: the world, 1: the even ranks, 2: the odd ranks
  bool message = false;
  std::uint64_t one = 0, two = 0, three = 0, four = 0;
};

Operation draw(std::size_t number) {
  std::mt19937_64 random(number + 1);
  return {random() % 3, random() % 2 == 0, random(), random(), random(), random()};
}

/// One of this rank's shares of an operation, with its memory.
struct Part {
  std::size_t number = 0;
  Call call;
  Communicator* communicator = nullptr;
  std::pmr::vector<std::byte> input{&mappable_memory()}, output{&mappable_memory()};
  std::vector<std::size_t> counts;       ///< counts of the call's blocks
  std::pmr::vector<std::byte> expected;  ///< what a message that is received must bring
  Request request;                       // of a call or a send; it must end before its memory, as the receive must
  ReceiveRequest receive;

  Status end(std::size_t chunk_bytes) {
    if (Status ended = request.wait(); !ended) return ended;
    if (Status ended = receive.wait(); !ended) return ended;
    if (communicator) {
      const Sampler none;
      const auto wrong =
          cli::count_wrong({call, none, communicator->rank(), communicator->size(), chunk_bytes}, output);
      if (wrong > 0) {
        return {Code::Internal, fmt::format("operation {}: {} wrong elements", number, wrong)};
      }
    } else if (output != expected || receive.received_bytes() != expected.size()) {
      return {Code::Internal, fmt::format("operation {}: another message", number)};
    }
    return {};
  }
};

std::pmr::vector<std::byte> letter(const Operation& operation) {
  std::mt19937_64 random(operation.one);
  std::pmr::vector<std::byte> bytes(operation.two % 16 == 0 ? operation.three % 300'000 : operation.three % 3000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class Storm {
 public:
  Storm(Communicator& world, Communicator half, std::size_t chunk_bytes)
      : half_(std::move(half)), communicators_{&world, &half_}, chunk_bytes_(chunk_bytes) {}

  Status run(std::size_t first, std::size_t operations) {
    const auto own_half = static_cast<std::size_t>(1 + communicators_[0]->rank() % 2);
    for (std::size_t number = first; number < first + operations; ++number) {
      const std::size_t group = draw(number).group;
      if (group == 0 || group == own_half) waiting_[group == 0 ? 0 : 1].push_back(number);
    }
    while (!waiting_[0].empty() || !waiting_[1].empty()) {
      if (Status posted = post_next(); !posted) return posted;
      while (parts_.size() > most_in_flight) {
        if (Status ended = end_oldest(); !ended) return ended;
      }
    }
    while (!parts_.empty()) {
      if (Status ended = end_oldest(); !ended) return ended;
    }
    return {};
  }

 private:
  Status end_oldest() {
    Status ended = parts_.front()->end(chunk_bytes_);
    parts_.pop_front();
    return ended;
  }

  /// Posts the next operation of one communicator, drawn by this rank alone.
  Status post_next() {
    std::size_t turn = order_() % 2;
    if (waiting_[turn].empty() ||
        (!waiting_[1 - turn].empty() && waiting_[turn].front() > waiting_[1 - turn].front() + furthest_ahead)) {
      turn = 1 - turn;
    }
    const std::size_t number = waiting_[turn].front();
    waiting_[turn].pop_front();
    const Operation operation = draw(number);
    return operation.message ? post_message(number, operation, *communicators_[turn])
                             : post_call(number, operation, *communicators_[turn]);
  }

  Status post_message(std::size_t number, const Operation& operation, Communicator& communicator) {
    const auto size = static_cast<std::uint64_t>(communicator.size());
    const auto from = static_cast<Rank>(operation.one % size), to = static_cast<Rank>(operation.two % size);
    const auto tag = static_cast<int>(operation.four % 5);
    if (communicator.rank() == from) {
      Part& part = add(number);
      part.input = letter(operation);
      auto request = communicator.start(
          Send{.data = part.input.data(), .count = part.input.size(), .dtype = Dtype::U8, .to = to, .tag = tag});
      if (!request) return request.status();
      part.request = *std::move(request);
    }
    if (communicator.rank() == to) {
      Part& part = add(number);
      part.expected = letter(operation);
      part.output.resize(part.expected.size());
      auto request = communicator.start(Receive{
          .data = part.output.data(), .count = part.output.size(), .dtype = Dtype::U8, .from = from, .tag = tag});
      if (!request) return request.status();
      part.receive = *std::move(request);
    }
    return {};
  }

  Status post_call(std::size_t number, const Operation& operation, Communicator& communicator) {
    const auto all = all_algorithms();
    const Algorithm& algorithm = *all[operation.one % all.size()];
    Part& part = add(number);
    part.communicator = &communicator;
    part.call = {.collective = algorithm.collective,
                 .count = moves_data(algorithm.collective) ? operation.two % 2000 : 0,
                 .dtype = operation.three % 2 ? Dtype::I64 : Dtype::F32,
                 .reduction = operation.three % 3 ? Reduction::Sum : Reduction::Max,
                 .root = static_cast<Rank>(operation.four % static_cast<std::uint64_t>(communicator.size()))};
    part.call.options.algorithm = algorithm.name;
    if (!communicator.algorithm_name(part.call)) part.call.reduction = Reduction::Sum;
    if (!communicator.algorithm_name(part.call)) part.call.options.algorithm.clear();  // not all share a board
    Call& call = part.call;
    cli::give_tables(call, communicator.rank(), communicator.size(), part.counts);
    part.input.resize(input_length(call, communicator.size()) * size_of(call.dtype));
    part.output.resize(output_length(call, communicator.size()) * size_of(call.dtype));
    cli::fill_input(call, communicator.rank(), part.input);
    call.input = part.input.data();
    call.output = part.output.data();
    auto request = communicator.start(call);
    if (!request) return request.status();
    part.request = *std::move(request);
    return {};
  }

  Part& add(std::size_t number) {
    parts_.push_back(std::make_unique<Part>());
    parts_.back()->number = number;
    return *parts_.back();
  }

  Communicator half_;
  std::array<Communicator*, 2> communicators_;
  std::size_t chunk_bytes_;
  std::mt19937_64 order_{std::random_device{}()};
  std::array<std::deque<std::size_t>, 2> waiting_;  // operations, by communicator
  std::deque<std::unique_ptr<Part>> parts_;         // in flight
};

}  // namespace

Status run_storm(Communicator& world, std::size_t first, std::size_t operations) {
  const auto config = runtime::Config::from_environment();
  if (!config) return config.status();
  auto half = world.split(world.rank() % 2);
  if (!half) return half.status();
  return Storm(world, **std::move(half), config->chunk).run(first, operations);
}

}  // namespace lacuna::test
