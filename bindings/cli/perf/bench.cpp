#include "bindings/cli/perf/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/perf/data.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::cli {

Result<std::unique_ptr<Background>> Background::make(Communicator& communicator, std::size_t bytes) {
  auto own = communicator.split(0);
  if (!own) return own.status();
  try {
    return std::make_unique<Background>(**std::move(own), bytes);
  } catch (const std::exception&) {  // bad_alloc or length_error
    return Status(Code::InvalidArgument, fmt::format("--beside {}: there is not so much memory", bytes));
  }
}

Status Background::keep_in_flight() {
  if (!request_.test()) return {};
  if (Status ended = request_.wait(); !ended) return ended;
  auto started = communicator_.start(allreduce(data_, data_));
  if (!started) return started.status();
  request_ = *std::move(started);
  ++started_;
  return {};
}

Status Background::finish(Communicator& communicator) {
  double most = started_;
  const std::span one(&most, 1);
  if (Status agreed = communicator.call(allreduce(one, one, Reduction::Max)); !agreed) return agreed;
  while (started_ < most) {
    if (Status ended = request_.wait(); !ended) return ended;
    if (Status started = keep_in_flight(); !started) return started;
  }
  return request_.wait();
}

bool serves(const PerfOptions& options, std::string_view algorithm) {
  if (!options.method) return false;
  const auto& all = options.method.method()->algorithms;
  const auto called = [&](std::string_view name) {
    return std::any_of(all.begin(), all.end(), [&](const MethodAlgorithm& one) {
      return one.algorithm->collective == options.collective && one.name == name;
    });
  };
  if (algorithm.empty()) {
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& one) { return one.algorithm->collective == options.collective; });
  }
  if (std::any_of(options.algorithms.begin(), options.algorithms.end(), called)) return called(algorithm);
  return options.method.method()->find(options.collective, algorithm) != nullptr;
}

Call Bench::call() {
  Call result{.collective = options.collective,
              .input = input.data(),
              .output = output.data(),
              .count = count,
              .dtype = options.dtype,
              .reduction = options.reduction,
              .root = options.root};
  result.memory = memory();
  give_tables(result, communicator.rank(), communicator.size(), block_counts);
  if (in_place) {  // the smaller buffer lies inside the larger one
    const InPlace offsets = in_place_offsets(result, communicator.rank());
    std::byte* larger = input.size() > output.size() ? input.data() : output.data();
    result.input = larger + offsets.input * size_of(options.dtype);
    result.output = larger + offsets.output * size_of(options.dtype);
  }
  result.options.algorithm = algorithm;
  result.options.priority = options.priority;
  if (options.messages) result.root = neighbour(-1);  // a rank receives what a broadcast of its predecessor would bring
  if (serves(options, algorithm)) {
    result.options.method = options.method;
    result.options.sampler = &sampler;
    result.options.state = &state;
  }
  return result;
}

Status Bench::prepare() {
  state = {};
  const Call sized = call();
  const std::size_t in = input_length(sized, communicator.size()) * size_of(options.dtype);
  const std::size_t out = output_length(sized, communicator.size()) * size_of(options.dtype);
  try {
    input = output = original = {};
    input = MemoryBlock(in, space());
    output = MemoryBlock(std::vector(out, std::byte{0xff}), space());
    const Call now = call();
    std::vector<std::byte> values(in);
    entries = fill_input(now, communicator.rank(), values, pattern ? &*pattern : nullptr);
    if (is_overwritten()) original = MemoryBlock(values, space());
    space().copy(static_cast<std::byte*>(const_cast<void*>(now.input)), values.data(), in);
  } catch (const std::bad_alloc&) {
    return {Code::InvalidArgument,
            fmt::format("buffers of {} and {} do not fit into memory", count_of(in, "byte"), count_of(out, "byte"))};
  }
  return {};
}

Memory Bench::memory() const {
  return device ? Memory{.kind = MemoryKind::Cuda, .device = device->number()} : Memory{};
}

std::vector<std::byte> Bench::output_of(const Call& now) const {
  std::vector<std::byte> copy(output.size());
  space().copy(copy.data(), static_cast<const std::byte*>(now.output), copy.size());
  return copy;
}

Result<double> Bench::time_rounds(int rounds) {
  const Call now = call();
  const int at_once = is_overwritten() ? 1 : rounds;
  std::chrono::duration<double> time{0};
  for (int i = 0; i < rounds; i += at_once) {
    if (is_overwritten()) {
      space().copy(static_cast<std::byte*>(const_cast<void*>(now.input)), original.data(), original.size());
    }
    if (Status together = communicator.call(barrier()); !together) return together;
    const auto begin = std::chrono::steady_clock::now();
    for (int j = 0; j < at_once; ++j) {
      if (Status ended = round(now, options.operations); !ended) return ended;
    }
    time += std::chrono::steady_clock::now() - begin;
  }
  return time.count() / std::max(rounds, 1);
}

Rank Bench::neighbour(Rank distance) const {
  return (communicator.rank() + distance + communicator.size()) % communicator.size();
}

/// Starts once what is measured.
Status Bench::start(const Call& now, std::vector<Request>& requests) {
  const auto keep = [&](auto request) {
    if (request) requests.push_back(*std::move(request));
    return request.status();
  };
  if (!options.messages) return keep(communicator.start(now));
  const MessageOptions as_asked{.priority = options.priority};
  if (Status receives = keep(communicator.start(Receive{.data = output.data(),
                                                        .count = count,
                                                        .dtype = options.dtype,
                                                        .from = neighbour(-1),
                                                        .memory = memory(),
                                                        .options = as_asked}));
      !receives) {
    return receives;
  }
  return keep(communicator.start(Send{.data = input.data(),
                                      .count = count,
                                      .dtype = options.dtype,
                                      .to = neighbour(1),
                                      .memory = memory(),
                                      .options = as_asked}));
}

Status Bench::round(const Call& now, Report& report) {
  if (options.messages) return round(now, 1);
  auto request = communicator.start(now);
  if (!request) return request.status();
  Status ended = request->wait();
  report = request->report();
  return ended;
}

Status Bench::round(const Call& now, int operations) {
  if (background) {
    if (Status goes_on = background->keep_in_flight(); !goes_on) return goes_on;
  }
  if (operations == 1 && !options.messages) return communicator.call(now);
  std::vector<Request> requests;
  requests.reserve(2 * static_cast<std::size_t>(operations));
  for (int i = 0; i < operations; ++i) {
    if (Status started = start(now, requests); !started) return started;
  }
  for (Request& request : requests) {
    if (Status status = request.wait(); !status) return status;
  }
  return {};
}

}  // namespace lacuna::cli
