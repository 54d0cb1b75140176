#include <algorithm>
#include <bit>
#include <cmath>

#include "algorithms/phases/sparse_accumulator.hpp"
#include "algorithms/topk/selecting.hpp"
#include "kernels/elements.hpp"

namespace lacuna {
namespace {

using kernels::backend;
using kernels::Cut;
using sparse::List;

/// An array that has fewer elements for each drawn one is read whole: that takes less time than to draw.
constexpr std::size_t least_elements_of_sample = 96;

/// How many elements a rank draws: 0 if it reads all of them.
std::size_t samples(const PartView& part) {
  const Topk& asked = topk_of(part.call);
  const bool samples_some =
      asked.selection == TopkSelection::Sampled && sparse::places_of(part) >= least_elements_of_sample * asked.samples;
  return samples_some ? asked.samples : 0;
}

/// The memory and the numbers that a select step works on.
struct Given {
  explicit Given(const KernelCall& call)
      : from(call, call.reads),
        list(List::of(from.rest()[0], from.rest()[1], 0)),
        room(from.rest()[0].count),
        wanted(sparse::arguments_of(call.part).wanted),
        sampled(from.rest()[2]),
        entries(from.rest().subspan(3)) {}

  sparse::Accumulator from;
  List list;
  std::size_t room, wanted;
  Extent sampled;
  std::span<const Extent> entries;

  const Extent& workspace() const { return entries[sparse::entry_workspace]; }
  kernels::EntriesList to() const { return {list.places, list.values, room}; }
};

/// The sum of the squares of elements that were multiplied by `scale` first.
struct Squares {
  double sum = 0, scale = 1;
};

/// Most arrays are summed in one pass. Where squares overflow, or are so small that they may have underflowed, the
/// second pass multiplies the elements by a power of two first. The sum is infinite only if an element is.
Squares squares_of(const kernels::Source& from) {
  constexpr double least = 0x1p-900;
  Squares squares;
  backend().sum_of_powers(from, 2, squares.scale, &squares.sum);
  const bool overflowed = std::isinf(squares.sum);
  if (!overflowed && !(squares.sum < least)) return squares;
  squares.scale = overflowed ? 0x1p-600 : 0x1p600;
  backend().sum_of_powers(from, 2, squares.scale, &squares.sum);
  return squares;
}

/// Each of P ranks scales its input down to an L2 norm of `clip` over the root of P (Deep gradient compression, section
/// 3.2). An input with an infinity or a NaN has no norm and is not scaled, so that all ranks see what is wrong with it.
kernels::FeedBack feed_back_by(const KernelCall& call) {
  const Topk& asked = topk_of(call.part.call);
  kernels::FeedBack by{.momentum = asked.momentum};
  if (call.uses.empty()) return by;
  const double root = std::sqrt(std::bit_cast<double>(call.uses[0])), scale = std::bit_cast<double>(call.uses[1]);
  const double most = asked.clip / std::sqrt(static_cast<double>(call.part.size));
  if (!std::isfinite(root) || !(root / scale > most)) return by;
  int of_most = 0, of_root = 0;
  const double factor = std::frexp(most, &of_most) / std::frexp(root, &of_root);
  const int exponent = of_most - of_root + std::ilogb(scale);
  constexpr int held_by_all = -100;  // 2 to this power is a number of all types that factors are rounded to
  const int second = exponent < held_by_all ? exponent / 2 : 0;
  by.factor = std::ldexp(factor, exponent - second);
  by.second = std::ldexp(1, second);
  return by;
}

Sampler sampler_of(const PartView& part) {
  Sampler sampler = part.call.options.state ? part.call.options.state->sampler : Sampler();
  sampler.key += static_cast<std::uint64_t>(part.position);
  sampler.draw = part.state_run;
  return sampler;
}

Cut exact_cut(const Given& given) { return sparse::cut_of_largest(given.from.all(), given.wanted, given.workspace()); }

/// The magnitude that this share of a standard normal distribution exceeds.
double normal_quantile(double share) {
  double low = 0, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > share ? low : high) = middle;
  }
  return high;
}

/// Computes the threshold as if the elements had a normal distribution with their mean and deviation. Then moves it
/// while it takes too few or too many. Source: Shi, Chu, Cheung, See: Understanding top-k sparsification in distributed
/// deep learning (2019), algorithm 1; how far off is too far follows its authors' code.
Cut gaussian_cut(const Topk& asked, const Given& given) {
  const kernels::Source from = given.from.all();
  if (given.wanted >= from.count) return exact_cut(given);
  const double count = static_cast<double>(from.count), wanted = static_cast<double>(given.wanted);
  const Squares squares = squares_of(from);
  double sum = 0;
  backend().sum_of_powers(from, 1, squares.scale, &sum);
  const double mean = sum / count, deviation = std::sqrt(std::max(squares.sum / count - mean * mean, 0.0));
  double threshold = (std::abs(mean) + deviation * normal_quantile(wanted / count)) / squares.scale;
  if (!std::isfinite(threshold)) return exact_cut(given);
  Cut cut{.above = kernels::magnitude_of(from.dtype, threshold)};
  for (int step = 0; step < asked.steps; ++step) {
    std::uint64_t taken = 0;
    backend().count(from, &cut, &taken);
    const bool few = 3 * taken<2 * given.wanted, many = 3 * taken> 4 * given.wanted;
    if (!few && !many) break;
    threshold *= few ? 1 - asked.step : 1 + asked.step;
    cut.above = kernels::magnitude_of(from.dtype, threshold);
  }
  return cut;
}

Cut cut_of(const KernelCall& call, const Given& given) {
  const Topk& asked = topk_of(call.part.call);
  Cut cut;
  switch (asked.selection) {
    case TopkSelection::Threshold:
      cut.above = kernels::magnitude_of(given.list.dtype, asked.threshold);
      break;
    case TopkSelection::Sampled:
      if (given.sampled.count == 0) return exact_cut(given);
      backend().estimate(given.from.all(), given.wanted, given.sampled.count, sampler_of(call.part), given.sampled.data,
                         given.workspace().data, &cut);
      break;
    case TopkSelection::Gaussian:
      cut = gaussian_cut(asked, given);
      break;
    case TopkSelection::Exact:
      cut = exact_cut(given);
      break;
  }
  return cut;
}

/// Takes the elements that the cut takes. It takes exactly as many as are wanted instead if the cut takes more than
/// there is room for, as one by a sample may, or none although some are wanted, as one by mean and deviation may.
std::uint64_t take(const KernelCall& call, const Given& given, Cut& cut) {
  std::uint64_t taken = 0;
  backend().compact(given.from.all(), &cut, given.to(), &taken);
  const bool wants_some = topk_of(call.part.call).selection != TopkSelection::Threshold, takes_all = cut.above == 0;
  if (taken <= given.room && (taken > 0 || takes_all || !wants_some)) return taken;
  cut = exact_cut(given);
  taken = 0;
  backend().compact(given.from.all(), &cut, given.to(), &taken);
  return taken;
}

void count(const KernelCall& call, std::uint64_t taken, std::uint64_t kept, const Cut& cut) {
  call.defines[0] = taken;
  call.counted.selected += taken;
  call.counted.contributed += taken;
  call.counted.kept += kept;
  call.counted.measures.tell(sparse::measure::threshold, kernels::number_of_magnitude(call.part.call.dtype, cut.above));
}

/// Selects the largest of the entries that a call without feedback has brought, or all if they are no more than wanted.
void select_of_entries(const KernelCall& call, const Given& given, const List& sorted) {
  Cut cut;
  std::uint64_t taken = 0;
  if (sorted.count > given.wanted) {
    cut = sparse::cut_of_largest({sorted.dtype, sorted.values, sorted.count}, given.wanted, given.workspace());
  }
  backend().keep(sorted.all(), &cut, given.to(), {sorted.dtype, nullptr, 0}, &taken);
  count(call, taken, sorted.count - taken, cut);
}

Status select_entries(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::measure::select_time);
  const Topk& asked = topk_of(call.part.call);
  const Given given(call);
  if (call.part.call.input_entries.places) {
    const auto sorted = sparse::sorted_entries(call, given.entries);
    if (!sorted) return sorted.status();
    if (!given.from.feeds_back()) {
      select_of_entries(call, given, *sorted);
      return {};
    }
    given.from.add(*sorted);
  } else if (given.from.feeds_back()) {
    given.from.feed_back(feed_back_by(call), sparse::all_places(call.part));
  }
  Cut cut = cut_of(call, given);
  const std::uint64_t taken = take(call, given, cut);
  given.from.clear_at({given.list.places, taken}, asked.masking);
  count(call, taken, given.from.count() - taken, cut);
  return {};
}

Status sum_squares(const KernelCall& call) {
  const kernels::Target input = sparse::all_of(call.reads);
  const Squares squares = squares_of({input.dtype, input.data, input.count});
  call.defines[0] = std::bit_cast<std::uint64_t>(squares.sum);
  call.defines[1] = std::bit_cast<std::uint64_t>(squares.scale);
  return {};
}

constexpr Kernel select_kernel = {"select", select_entries}, sum_squares_kernel = {"sum of squares", sum_squares};

}  // namespace

sparse::Selection select(GraphBuilder& g) {
  const sparse::Selection mine = sparse::room_for_selection(g);
  const std::vector<Region> input = sparse::whole_input(g);
  std::vector<Region> writes = sparse::accumulator_rooms(g);
  writes = sparse::joined(std::move(writes), {mine.places, mine.values, g.buffer({.capacity = samples})});
  writes = sparse::joined(std::move(writes), sparse::entry_rooms(g));
  std::vector<Value> uses;
  if (g.parameters<TopkForm>().clipped) {
    uses = {g.value(), g.value()};
    g.kernel(sum_squares_kernel, {.reads = input, .defines = uses});
  }
  g.kernel(select_kernel, {.reads = input, .writes = writes, .uses = uses, .defines = {mine.count}});
  return mine;
}

}  // namespace lacuna
