#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/graph/algorithm.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/method/option.hpp"
#include "runtime/values/method_options.hpp"
#include "runtime/values/method_state.hpp"

namespace lacuna {

/// A part of a program whose messages are as long as the data say, and what is expected of these.
struct ExpectedPart {
  const Call& call;
  const PartPlan& plan;
  Rank size;
  double places;   ///< elements of the data that each rank brings
  double entries;  ///< of these, that each rank sends
  /// s ranks together have s^growth times as many entries; none: as many as where each rank has drawn its own.
  std::optional<double> growth{};

  /// Of so many ranks together; all places at most.
  double entries_of(double ranks) const;
};

/// An algorithm that serves a method, and how it is called when it does.
struct MethodAlgorithm {
  const Algorithm* algorithm = nullptr;
  std::string_view name;
  std::string_view summary;  ///< as Algorithm::summary, with the method
  /// Whose dense call reports stand beside; null: the algorithm's own.
  const Algorithm* dense = nullptr;
  /// Bytes of payload that a rank is expected to send, on average over the ranks; null: its graphs say it.
  double (*expected_bytes)(const ExpectedPart& part) = nullptr;
  /// Where that is more: bytes that follow one another on the longest way of the messages.
  double (*path_bytes)(const ExpectedPart& part) = nullptr;
  /// Of the result, where it does not have those of all ranks together.
  double (*result_entries)(const ExpectedPart& part) = nullptr;
  /// The number of messages in the longest chain of which each waits for the one before, in one part of so many ranks.
  /// A report then needs no graph but the rank's own, so a program whose kernels do all reductions must state it. Null:
  /// reports and predictions find it, and whose contributions arrive, in the graphs of all positions.
  int (*rounds)(const PartPlan& part, Rank size) = nullptr;
  /// The same over all parts of most runs, where the first part of a state's first run differs from that.
  int (*expected_rounds)(const ExpectedPart& part) = nullptr;
};

/// What a plan is made from: values equal on all ranks, of a call that check() has accepted.
struct PlanRequest {
  const Call& call;
  const Algorithm& algorithm;
  const Hosts& hosts;  ///< of the ranks
  std::size_t chunk_bytes = 0;
};

/// A run that has ended, as its method sees it.
struct Ended {
  const Call& call;
  const Plan& plan;
  bool well = false;
  std::uint64_t state_run = 0;  ///< which run of its state it was, from 1; 0: it has none
  const void* run = nullptr;    ///< tells runs apart that are under way at the same time
};

/// A part that has ended, with what all ranks know alike of it.
struct Followed {
  const PlanRequest& request;
  const PartPlan& part;
  std::uint32_t length = 1;               ///< of its chain so far, from the part of the plan on
  std::span<const std::uint64_t> values;  ///< on which its program decides
};

/// What a call may give up, and how it remembers that: constant data and functions. One folder in algorithms/ defines
/// it, one line of algorithms/methods.def lists it. A method's options are a plain struct; `options` describes it.
/// Functions that may be null do nothing. They run under the executor's lock and neither block nor call users.
struct Method {
  std::string_view name{};
  std::string_view summary{};  ///< one line
  std::span<const Option> options{};
  /// Names of what it adds to reports, of which plans know some, the first one too, and kernels count the rest, and of
  /// what becomes of parts: the first outcome is "dense". Names that end in "_s" are of seconds that kernels took, and
  /// "entries_result" is of the elements of a rank's output that are not zero: `lacuna perf` has columns for them.
  std::span<const std::string_view> numbers{};
  std::span<const std::string_view> outcomes{};
  /// Those that serve it.
  std::span<const MethodAlgorithm> algorithms{};
  /// "option=value,option=value": that show it at work. `lacuna list` names them, and the tests of methods run them.
  std::span<const std::string_view> examples{};
  bool takes_entries = false;  ///< its algorithms heed Call::input_entries and output_entries
  /// New options: a copy, or with all defaults.
  std::shared_ptr<void> (*make)(const void* like) = nullptr;
  /// Do these options ask for anything, in some run at least?
  bool (*is_on)(const void* options) = nullptr;
  /// The name of the algorithm that serves this call best, which names none.
  std::string_view (*preferred)(const Call& call, const Hosts& hosts) = nullptr;
  /// Ok, or why this algorithm can't do what the call asks for; the ranges of options are checked beside it.
  Status (*check)(const Call& call, const Algorithm& algorithm, const Hosts& hosts) = nullptr;
  /// Does this call, the first of its state, lose nothing where at most so many elements of each rank are not zero? Of
  /// algorithms whose graphs do not tell; null: it may always lose some.
  bool (*lossless)(const Call& call, const Hosts& hosts, std::size_t entries) = nullptr;
  /// Ok, or why the call can't start now: Busy.
  Status (*ready)(const Call& call) = nullptr;
  /// Makes the arrays that the state of a tensor of so many elements will have, for checkpoints; a call makes what
  /// lacks.
  void (*state)(const void* options, Dtype dtype, std::size_t elements, MethodState& state) = nullptr;
  /// Makes the parts of the next run. Sees the state as it is before the run, and changes nothing in it.
  void (*plan)(const PlanRequest& request, Plan& plan) = nullptr;
  /// What follows a part that has ended, or nothing; null: nothing ever. It begins on each rank when the part has ended
  /// there, and writes the state only if Plan::writes_state says so.
  std::optional<PartPlan> (*follow)(const Followed& part) = nullptr;
  /// A run of this call begins.
  void (*begun)(const Call& call, const void* run) = nullptr;
  /// The ranks in a part that is not dense, which draws as so manieth; null: as the algorithm orders them.
  Order (*order)(const Binding& binding, std::uint32_t draw) = nullptr;
  /// A run has ended.
  void (*ended)(const Ended& run) = nullptr;

  /// How the algorithm is called when it serves this method; null: it does not.
  const MethodAlgorithm* find(const Algorithm& algorithm) const;
  const MethodAlgorithm* find(Collective collective, std::string_view algorithm) const;
};

/// The method of the call that the algorithm serves; null: it runs dense.
inline const Method* method_of(const Call& call, const Algorithm& algorithm) {
  const Method* method = call.options.method.method();
  return method && method->find(algorithm) ? method : nullptr;
}
/// Does it ask for anything to be given up, in some run at least?
inline bool is_on(const MethodOptions& options) { return options && options.method()->is_on(options.get()); }
inline bool asks_for_method(const Call& call) { return is_on(call.options.method); }

/// The parts of the call's next run: those of its method, or equal shares.
void make_plan(const PlanRequest& request, Plan& plan);

/// The ranks in one part of a plan.
Order order_of(const Binding& binding, const PartPlan& part);
/// In the dense call.
inline Order dense_order(const Binding& binding, const PartPlan& part) {
  return binding.algorithm.order ? binding.algorithm.order(binding, part.draw) : Order(binding.hosts.size());
}

}  // namespace lacuna
