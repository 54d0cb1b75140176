#include "tests/processes/worker_conformance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithms/blocks/blocks.hpp"
#include "algorithms/cast/cast.hpp"
#include "algorithms/lowrank/lowrank.hpp"
#include "algorithms/ok_topk/ok_topk.hpp"
#include "algorithms/quantize/quantize.hpp"
#include "algorithms/registry/registry.hpp"
#include "algorithms/sketch/sketch.hpp"
#include "algorithms/skip/skip.hpp"
#include "algorithms/topk/topk.hpp"
#include "bindings/cli/perf/data.hpp"
#include "bindings/cpp/collectives.hpp"
#include "runtime/config/config.hpp"
#include "runtime/values/digest.hpp"

namespace lacuna::test {
namespace {

constexpr std::array<std::size_t, 3> small_counts = {0, 1, 1031};
constexpr std::size_t large_count = 140009;  // elements; at 8 bytes each they are more than a window
constexpr std::size_t margin = 64;           // bytes around a result that must not change

constexpr std::array kinds = {std::pair(Dtype::F32, Reduction::Sum), std::pair(Dtype::BF16, Reduction::Avg),
                              std::pair(Dtype::F16, Reduction::Sum), std::pair(Dtype::F64, Reduction::Max),
                              std::pair(Dtype::I64, Reduction::Min), std::pair(Dtype::U8, Reduction::Prod),
                              std::pair(Dtype::I32, Reduction::Sum), std::pair(Dtype::F64, Reduction::Avg),
                              std::pair(Dtype::U16, Reduction::Max), std::pair(Dtype::C64, Reduction::Sum),
                              std::pair(Dtype::I8, Reduction::Sum),  std::pair(Dtype::C128, Reduction::Prod),
                              std::pair(Dtype::U64, Reduction::Min)};

/// In how many of the kinds a call is tried. Which ones depends on the number of ranks, so that jobs of 2 to 5 ranks
/// have tried all. Messages carry bytes, whatever these mean; tests in one process try each kind on each number of
/// ranks.
constexpr std::size_t kinds_of_a_call = 4;
static_assert(4 * kinds_of_a_call >= kinds.size());

/// One call with memory of its own, which is unaligned in every second case.
class Case {
 public:
  Case(const Call& call, bool in_place, std::size_t number, const Communicator& communicator)
      : call_(call), in_place_(in_place), rank_(communicator.rank()), size_(communicator.size()) {
    sampler_ = before_ = {.seed = 42, .key = number, .draw = number};
    call_.options.sampler = &sampler_;
    if (call.options.state) call_.options.state = &state_;
    cli::give_tables(call_, rank_, size_, counts_);
    if (number % 3 == 0 && tells_lengths()) {
      received_.assign(counts_.size(), ~std::size_t{0});
      call_.output_blocks.received = received_;
    }
    place(number % 2);
    const bool reads = reads_input(call.collective, rank_, call.root);
    if (reads) cli::fill_input(call_, rank_, {memory_.data() + input_, input_bytes_});
    call_.input = reads ? memory_.data() + input_ : nullptr;
    call_.output = writes_output(call.collective, rank_, call.root) ? memory_.data() + output_ : nullptr;
    given_.assign(memory_.begin(), memory_.end());
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  const Call& call() const { return call_; }
  void corrupt() { memory_[output_ + output_bytes_ / 2] ^= std::byte{1}; }

  std::string text() const {
    const std::string& method = call_.options.method.text();
    return fmt::format("{} {} {} {} count {} root {}{}{}{}", to_string(call_.collective), call_.options.algorithm,
                       to_string(call_.dtype), to_string(call_.reduction), call_.count, call_.root,
                       method.empty() ? "" : " with ", method, in_place_ ? " in place" : "");
  }

  /// Is called after the end of the call.
  Status check(std::size_t chunk_bytes) const {
    const std::size_t wrong =
        cli::count_wrong({call_, before_, rank_, size_, chunk_bytes}, {memory_.data() + output_, output_bytes_});
    if (wrong > 0) return {Code::Internal, fmt::format("{}: {} wrong elements", text(), wrong)};
    if (!received_.empty() && call_.output && received_ != counts_) {
      return {Code::Internal, fmt::format("{}: wrong numbers of received elements", text())};
    }
    return check_margins();
  }

  /// Is called after the end of an allreduce that approximates the sum. The result must have less error than zeros, and
  /// the same bits on all ranks.
  Status check_approximation(Communicator& communicator) const {
    const std::span output(memory_.data() + output_, output_bytes_);
    const cli::SquaredError error = cli::squared_error({call_, before_, rank_, size_, 0}, output);
    if (error.off > error.dense) return {Code::Internal, fmt::format("{}: the error is that of zeros", text())};
    Digest digest;
    for (std::byte byte : output) digest.add(static_cast<std::uint64_t>(byte));
    const std::array mine{static_cast<std::int64_t>(digest.value())};
    std::array<std::int64_t, 1> least{}, most{};
    for (const auto& [reduction, found] : {std::pair(Reduction::Min, &least), std::pair(Reduction::Max, &most)}) {
      if (Status status = communicator.call(allreduce<std::int64_t>(mine, *found, reduction)); !status) return status;
    }
    if (least != most) return {Code::Internal, fmt::format("{}: ranks have different bits", text())};
    return check_margins();
  }

 private:
  Status check_margins() const {
    // If an input with blocks is reduced in place, the algorithm uses the other blocks as scratch.
    const CollectiveTraits& traits = traits_of(call_.collective);
    const bool input_too = in_place_ && traits.reduces && traits.input == Holds::Blocks;
    const std::size_t begin = input_too ? input_ : output_;
    const std::size_t end = begin + (input_too ? input_bytes_ : output_bytes_);
    if (std::memcmp(memory_.data(), given_.data(), begin) != 0 ||
        std::memcmp(memory_.data() + end, given_.data() + end, memory_.size() - end) != 0) {
      return {Code::Internal, fmt::format("{}: bytes beside the result were written to", text())};
    }
    return {};
  }

  /// May the receivers of blocks leave their lengths to the senders?
  bool tells_lengths() const {
    const CollectiveTraits& traits = traits_of(call_.collective);
    return traits.lengths == Lengths::Told && traits.output == Holds::Blocks;
  }

  /// Places margin, input, margin, output, margin. In place the smaller buffer lies in the larger.
  void place(std::size_t shift) {
    const std::size_t width = size_of(call_.dtype);
    input_bytes_ = width * input_length(call_, size_);
    output_bytes_ = width * output_length(call_, size_);
    input_ = output_ = margin + shift;
    if (in_place_) {
      const InPlace offsets = in_place_offsets(call_, rank_);
      input_ += width * offsets.input;
      output_ += width * offsets.output;
    } else {
      output_ += input_bytes_ + margin;
    }
    memory_.assign(std::max(input_ + input_bytes_, output_ + output_bytes_) + margin, std::byte{0xa5});
  }

  Call call_;
  bool in_place_;
  Rank rank_, size_;
  Sampler sampler_, before_;
  MethodState state_;
  std::size_t input_ = 0, output_ = 0, input_bytes_ = 0, output_bytes_ = 0;
  std::pmr::vector<std::byte> memory_{&mappable_memory()};
  std::vector<std::byte> given_;
  std::vector<std::size_t> counts_, received_;
};

/// The list of cases, and what became of them.
class Suite {
 public:
  Suite(Communicator& communicator, std::size_t chunk_bytes, bool corrupt)
      : communicator_(communicator), chunk_bytes_(chunk_bytes), corrupt_(corrupt) {}

  Status run() {
    for (const Algorithm* algorithm : all_algorithms()) {
      Call call{.collective = algorithm->collective};
      call.options.algorithm = algorithm->name;
      if (algorithm->on_board && !communicator_.algorithm_name(call)) continue;  // these ranks share none
      if (Status status = run_counted(algorithm->name, call.collective, [&] { return run_some_kinds(call); });
          !status) {
        return status;
      }
    }
    for (const MethodAlgorithm& one : skip_method.algorithms) {
      Call call{.collective = one.algorithm->collective};
      call.options.algorithm = one.name;
      if (Status status = run_counted(one.name, call.collective, [&] { return run_skipping(call); }); !status)
        return status;
    }
    for (const MethodOptions& lossless : {topk({.density = 1, .feedback = false}), ok_topk({.density = 1}),
                                          sketch({.block = 3}), sparse_blocks({.block = 7})}) {
      for (const MethodAlgorithm& one : lossless.method()->algorithms) {
        Call call{.collective = one.algorithm->collective};
        call.options.algorithm = one.name;
        call.options.method = lossless;
        call.options.state = &any_state_;  // each case has a state of its own
        if (Status status = run_counted(one.name, call.collective, [&] { return run_some_kinds(call); }); !status) {
          return status;
        }
      }
    }
    if (Status status = run_rounding(); !status) return status;
    if (Status status = finish_pending(); !status) return status;
    return run_approximating();
  }

 private:
  /// Says how many cases there were.
  template <class Run>
  Status run_counted(std::string_view name, Collective collective, Run run) {
    const std::size_t before = number_;
    if (Status status = run(); !status) return status;
    fmt::print("{} {}: {} cases\n", to_string(collective), name, number_ - before);
    return {};
  }

  bool is_accepted(const Call& call) const {
    return select_algorithm(call, Hosts(communicator_.size()).with_board()).status().is_ok();
  }

  /// Runs methods that round elements. They lose nothing of small whole numbers, but some of their means.
  Status run_rounding() {
    rounds_ = true;
    for (const MethodOptions& rounding : {cast({}), quantize({.feedback = false})}) {
      for (const MethodAlgorithm& one : rounding.method()->algorithms) {
        Call call{.collective = one.algorithm->collective};
        call.options.algorithm = one.name;
        call.options.method = rounding;
        call.options.state = &any_state_;
        if (Status status = run_counted(one.name, call.collective, [&] { return run_some_kinds(call); }); !status) {
          return status;
        }
      }
    }
    return {};
  }

  /// Runs a method whose result is another one than the sum.
  Status run_approximating() {
    const MethodOptions approximating = lowrank({.rank = 3});
    Call call{.collective = Collective::Allreduce};
    call.options.algorithm = "lowrank";
    call.options.method = approximating;
    call.options.state = &any_state_;
    return run_counted("lowrank", call.collective, [&] {
      for (Dtype dtype : {Dtype::F32, Dtype::F64}) {
        for (std::size_t count : {small_counts.front(), small_counts.back(), large_count}) {
          for (bool in_place : {false, true}) {
            call.dtype = dtype;
            call.count = count;
            Case one(call, in_place, number_++, communicator_);
            Status status = communicator_.call(one.call());
            if (status) status = one.check_approximation(communicator_);
            if (!status) return status;
          }
        }
      }
      return Status();
    });
  }

  /// Runs the call with no, few and many rounds left out, in all modes that the algorithm takes.
  Status run_skipping(Call call) {
    const auto skipping = [&](int steps, SkipMode mode) {
      call.options.method = skip({.steps = steps, .mode = mode, .incomplete = true});
      return is_accepted(call);
    };
    int most = 0;
    while (skipping(most + 1, SkipMode::Static)) ++most;
    for (int steps : std::set{0, std::min(1, most), most}) {
      for (SkipMode mode : {SkipMode::Static, SkipMode::Random, SkipMode::Shuffled}) {
        if (!skipping(steps, mode) || (steps == 0 && mode != SkipMode::Static)) continue;
        if (Status status = run_kinds(call, number_, 1); !status) return status;
      }
    }
    return {};
  }

  Status run_some_kinds(const Call& call) {
    return run_kinds(call, kinds_of_a_call * static_cast<std::size_t>(communicator_.size()), kinds_of_a_call);
  }

  /// Runs a call in the kinds that it takes, from one on, at most that many.
  Status run_kinds(Call call, std::size_t first, std::size_t most) {
    for (std::size_t i = 0, taken = 0; i < kinds.size() && taken < most; ++i) {
      std::tie(call.dtype, call.reduction) = kinds[(first + i) % kinds.size()];
      if (!is_offered(call)) continue;
      ++taken;
      for (std::size_t count : small_counts) {
        if (Status status = run_places(call, count); !status) return status;
        if (!moves_data(call.collective)) return {};
      }
    }
    std::tie(call.dtype, call.reduction) = kinds[number_ % kinds.size()];
    if (!is_offered(call)) call.reduction = Reduction::Sum;
    if (!is_offered(call)) call.dtype = Dtype::F32;
    return run_places(call, large_count);
  }

  bool is_offered(const Call& call) const {
    if (rounds_ && call.reduction == Reduction::Avg) return false;
    return takes(call.collective, call.dtype, call.reduction) && is_accepted(call);
  }

  Status run_places(Call call, std::size_t count) {
    call.count = count;
    for (bool in_place : {false, true}) {
      call.root = static_cast<Rank>(number_ % static_cast<std::size_t>(communicator_.size()));
      Case alone(call, in_place, number_++, communicator_);
      Status status = communicator_.call(alone.call());
      if (corrupt_ && count > 1) alone.corrupt();
      if (status) status = alone.check(chunk_bytes_);
      if (!status) return {status.code(), fmt::format("{}: {}", alone.text(), status.message())};
      if (Status started = start_pending(call, in_place); !started) return started;
    }
    return {};
  }

  /// Starts every case once more, in flight together with those before it.
  Status start_pending(const Call& call, bool in_place) {
    pending_.push_back({std::make_unique<Case>(call, in_place, number_, communicator_), {}});
    auto request = communicator_.start(pending_.back().one->call());
    if (!request) return request.status();
    pending_.back().request = std::move(*request);
    return pending_.size() < most_pending ? Status::ok() : finish_pending();
  }

  /// Finishes the youngest case first, which is nobody's order of completion.
  Status finish_pending() {
    for (; !pending_.empty(); pending_.pop_back()) {
      if (Status status = pending_.back().request.wait(); !status) return status;
      if (Status status = pending_.back().one->check(chunk_bytes_); !status) return status;
    }
    return {};
  }

  struct Pending {
    std::unique_ptr<Case> one;
    Request request;  // it must end before its memory
  };
  static constexpr std::size_t most_pending = 24;

  Communicator& communicator_;
  std::size_t chunk_bytes_;
  bool corrupt_;
  std::size_t number_ = 0;
  bool rounds_ = false;  // the method of the calls rounds elements
  MethodState any_state_;
  std::vector<Pending> pending_;
};

}  // namespace

Status run_conformance(Communicator& communicator, bool corrupt) {
  const auto config = runtime::Config::from_environment();
  if (!config) return config.status();
  return Suite(communicator, config->chunk, corrupt).run();
}

}  // namespace lacuna::test
