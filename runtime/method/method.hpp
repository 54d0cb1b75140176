#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/graph/algorithm.hpp"
#include "runtime/graph/plan.hpp"
#include "runtime/values/method_options.hpp"
#include "runtime/values/method_state.hpp"
#include "runtime/values/option.hpp"
#include "runtime/values/scale.hpp"

namespace lacuna {

struct Predictions;

/// An algorithm that serves a method, and how it is called when it does.
struct MethodAlgorithm {
  const Algorithm* algorithm = nullptr;
  std::string_view name;
  std::string_view summary;  ///< one line, like Algorithm::summary, of the algorithm with the method
  /// The algorithm whose dense call reports are compared with. Null: this algorithm's own dense call.
  const Algorithm* dense = nullptr;
  /// The number of messages in the longest chain in which each waits for the one before, in a part of so many ranks.
  /// A report then needs no graph but the rank's own, so a program whose kernels do all reductions must state it. Null:
  /// reports and predictions find it, and whose contributions arrive, in the graphs of all positions.
  int (*rounds)(const PartPlan& part, Rank size) = nullptr;
  /// What tools expect of it where its messages are as long as the data decide (algorithms/phases/predictions.hpp).
  /// Null: its graphs tell it.
  const Predictions* predictions = nullptr;
};

/// What a plan is made from. The call has been accepted by check(), and all that a plan may use is equal on all ranks.
struct PlanRequest {
  const Call& call;
  const Algorithm& algorithm;
  const Hosts& hosts;           ///< the host of each rank, and of each aggregator that takes part
  std::size_t chunk_bytes = 0;  ///< about how long a piece of a large message is to be
  Rank aggregators = 0;  ///< so many of `hosts`, the last ones, are of aggregators: these have no data and no state
};

/// A part that has ended, with what is known of it and equal on all ranks.
struct Followed {
  const PlanRequest& request;
  const PartPlan& part;
  std::uint32_t length = 1;               ///< parts of its chain so far; the first one is of the plan
  std::span<const std::uint64_t> values;  ///< the values that its program has given to GraphBuilder::decide
};

/// A sum that gets its final value, and everything that its scale may depend on.
struct FinalSum {
  const PartPlan& part;
  Reduction reduction = Reduction::Sum;
  Rank terms = 0, all = 0;  ///< it has the terms of `terms` ranks, out of `all`
  std::uint64_t note = 0;   ///< the note that its program has given to GraphBuilder::finish
};

/// What a call may give up, and how it remembers that: constant data and functions. One folder in algorithms/ defines
/// it, and one line of algorithms/methods.def lists it. A method's options are a plain struct; `options` describes it.
/// A function that is null does nothing. The functions run under the executor's lock; they neither block nor call
/// functions of the program.
struct Method {
  std::string_view name{};
  std::string_view summary{};  ///< one line
  std::span<const Option> options{};
  /// What the method reports about its calls beside what all methods report.
  MeasureTable measures{};
  /// What may become of a part, by PartPlan::outcome. The first one is "dense".
  std::span<const std::string_view> outcomes{};
  /// The algorithms that serve it.
  std::span<const MethodAlgorithm> algorithms{};
  /// Options that show it at work, as "option=value,option=value". `lacuna list` shows them, and the tests of methods
  /// run them.
  std::span<const std::string_view> examples{};
  /// Makes new options: a copy of `like`, or all defaults if that is null.
  std::shared_ptr<void> (*make)(const void* like) = nullptr;
  /// How many elements an entry has in Call::input_entries and output_entries. All ranks find the same number. 0: these
  /// options leave it open, and check() refuses such calls. Null: its algorithms use no entries.
  std::size_t (*entry_length)(const void* options) = nullptr;
  /// Do these options ask for anything to be given up, in at least one run?
  bool (*is_on)(const void* options) = nullptr;
  /// The name of the algorithm that serves this call best. It is asked for calls that name no algorithm.
  std::string_view (*preferred)(const Call& call, const Hosts& hosts) = nullptr;
  /// Why `preferred` names it, in words that go on from "the method chooses it:". Null: there is nothing to say, for
  /// example because only one algorithm serves.
  std::string_view (*reason)(const Call& call, const Hosts& hosts) = nullptr;
  /// Returns ok, or why this algorithm can't do what the call asks for. The ranges of options are checked elsewhere.
  Status (*check)(const Call& call, const Algorithm& algorithm, const Hosts& hosts) = nullptr;
  /// Do the job's aggregators take part in the call? There are so many of them, which may be 0. An error says why the
  /// call can't do without. If they take part, the plan must use nothing of the state, draw nothing, and place the
  /// aggregators behind all ranks. Calls of collectives with tables can't use them. Null: they never take part.
  Result<bool> (*aggregates)(const Call& call, Rank aggregators) = nullptr;
  /// Does the first call of a state lose nothing, if at most `entries` elements of each rank are not zero? This is
  /// asked where graphs do not tell it. Null: a call may always lose something.
  bool (*lossless)(const Call& call, const Hosts& hosts, std::size_t entries) = nullptr;
  /// Returns ok, or why the call can't start with its state as it is now. So many ranks call it.
  Status (*ready)(const Call& call, Rank size) = nullptr;
  /// What a sum is multiplied by that lacks the terms of some ranks. Null: it counts as if these terms were zeros.
  Scale (*scale)(const FinalSum& sum) = nullptr;
  /// Makes the arrays that the state of a tensor of so many elements will have. Checkpoints need them before the first
  /// call; a call makes those that are missing.
  void (*state)(const void* options, Dtype dtype, std::size_t elements, MethodState& state) = nullptr;
  /// Makes the parts of the next run. It sees the state as it is before the run. It changes nothing in the state, but
  /// it may store there what it has worked out from it.
  void (*plan)(const PlanRequest& request, Plan& plan) = nullptr;
  /// Returns the part that follows one that has ended, or nothing. It begins on each rank when the part before it has
  /// ended there. It writes the state only if Plan::writes_state says so. Null: no part follows another.
  std::optional<PartPlan> (*follow)(const Followed& part) = nullptr;
  /// The order of the ranks in a part that is not dense; `draw` is the number of its draw. Null: the algorithm's order.
  Order (*order)(const Binding& binding, std::uint32_t draw) = nullptr;

  /// The row of the algorithm in `algorithms`, or null if it does not serve this method.
  const MethodAlgorithm* find(const Algorithm& algorithm) const;
  const MethodAlgorithm* find(Collective collective, std::string_view algorithm) const;
};

/// The method of the call if the algorithm serves it. Null: the call runs dense.
inline const Method* method_of(const Call& call, const Algorithm& algorithm) {
  const Method* method = call.options.method.method();
  return method && method->find(algorithm) ? method : nullptr;
}
/// Do these options ask for anything to be given up, in at least one run?
inline bool is_on(const MethodOptions& options) { return options && options.method()->is_on(options.get()); }
inline bool asks_for_method(const Call& call) { return is_on(call.options.method); }
/// How many elements an entry has, by the method of these options. 0: there is none that says it.
inline std::size_t entry_length(const MethodOptions& options) {
  const Method* method = options.method();
  return method && method->entry_length ? method->entry_length(options.get()) : 0;
}

/// What a sum that has the terms of all ranks is multiplied by when it gets its final value. `all` is their number.
inline Scale scale_of_all(Reduction reduction, Rank all) {
  return reduction == Reduction::Avg ? Scale{.divisor = static_cast<double>(all)} : Scale{};
}
/// What each term of a sum of so many ranks is multiplied by. For avg it is the largest power of two that is at most
/// 1/all. So no sum of terms is out of range that has a mean in range, and a power of two rounds nothing off but the
/// last bits of the smallest numbers.
inline double factor_of_terms(Reduction reduction, Rank all) {
  return reduction == Reduction::Avg ? 1.0 / std::bit_ceil(static_cast<unsigned>(all)) : 1;
}
/// What is left of a scale, or of that of all ranks, for a sum whose terms have been multiplied by this factor already.
inline Scale rest_of(Scale scale, double factor) { return {scale.multiplier, scale.divisor * factor}; }
inline Scale scale_of_scaled_terms(Reduction reduction, Rank all) {
  return rest_of(scale_of_all(reduction, all), factor_of_terms(reduction, all));
}
/// How a sum of all ranks is scaled, by a program that adds its terms in their order: what it adds the term of number
/// `term` to is the one of number 0, or the sum so far.
inline SumScale scale_of_term(Reduction reduction, Rank term, Rank all) {
  const double factor = factor_of_terms(reduction, all);
  return {.first = term == 1 ? factor : 1,
          .second = factor,
          .sum = term + 1 == all ? scale_of_scaled_terms(reduction, all) : Scale()};
}
/// What any sum is multiplied by when it gets its final value. A call without a method has a null `method`.
inline Scale scale_of(const Method* method, const FinalSum& sum) {
  const bool lacks_terms = sum.terms != sum.all;
  return lacks_terms && method && method->scale ? method->scale(sum) : scale_of_all(sum.reduction, sum.all);
}

/// Makes the parts of the call's next run: those of its method, or equal shares without a method.
void make_plan(const PlanRequest& request, Plan& plan);

/// The order of the ranks in one part of a plan.
Order order_of(const Binding& binding, const PartPlan& part);
/// The order of the ranks in this part if the call were dense.
inline Order dense_order(const Binding& binding, const PartPlan& part) {
  return binding.algorithm.order ? binding.algorithm.order(binding, part.draw) : Order(binding.hosts.size());
}

}  // namespace lacuna
