#include <algorithm>
#include <bit>
#include <cmath>

#include "algorithms/phases/sparse_accumulator.hpp"
#include "algorithms/topk/selecting.hpp"
#include "kernels/elements.hpp"

namespace lacuna {
namespace {

using kernels::Cut;
using sparse::List;

/// An array that has fewer elements for each drawn one is read as a whole, which takes less time than drawing.
constexpr std::size_t least_elements_of_sample = 96;

/// Returns how many elements a rank draws, or 0 if it reads all of them.
std::size_t samples(const PartView& part) {
  const Topk& asked = topk_of(part.call);
  const bool samples_some =
      asked.selection == TopkSelection::Sampled && sparse::places_of(part) >= least_elements_of_sample * asked.samples;
  return samples_some ? asked.samples : 0;
}

/// Selects from the sum of the input and the residual.
struct Select {
  static constexpr std::string_view name = "select";
  Reads input;
  Use squares{}, scale{};  ///< what SumSquares has found, if the input is clipped
  sparse::WriteAccumulator accumulator;
  sparse::WriteList selected;
  Write sampled;
  sparse::SortEntries entries;
  NotFiniteRooms not_finite;
  Define count;

  Status operator()(const KernelCall& call) const;
};

/// What the functions of a selecting kernel work on.
struct Given {
  Given(const KernelCall& step, const Select& select)
      : call(step),
        ports(select),
        from(step, select.accumulator, select.input),
        wanted(sparse::arguments_of(step.part).wanted) {}

  const KernelCall& call;
  const Select& ports;
  sparse::Accumulator from;
  std::size_t wanted;

  Dtype dtype() const { return call.part.call.dtype; }
};

/// The sum of the squares of elements that were multiplied by `scale` first.
struct Squares {
  double sum = 0, scale = 1;
};

/// Most arrays are summed in one pass. If squares overflow, or are so small that they may have underflowed, a second
/// pass multiplies the elements by a power of two first. The sum is infinite only if an element is infinite.
Squares squares_of(const KernelCall& call, const kernels::Source& from) {
  constexpr double least = 0x1p-900;
  Squares squares;
  call.backend.sum_of_powers(from, 2, squares.scale, &squares.sum);
  const bool overflowed = std::isinf(squares.sum);
  if (!overflowed && !(squares.sum < least)) return squares;
  squares.scale = overflowed ? 0x1p-600 : 0x1p600;
  call.backend.sum_of_powers(from, 2, squares.scale, &squares.sum);
  return squares;
}

/// Each of P ranks scales its input down to an L2 norm of `clip` over the root of P (Deep gradient compression, section
/// 3.2). An input with an infinity or a NaN has no norm and is not scaled, so that all ranks see what is wrong with it.
kernels::FeedBack feed_back_by(const KernelCall& call, const Select& ports) {
  const Topk& asked = topk_of(call.part.call);
  kernels::FeedBack by{.momentum = asked.momentum};
  if (!ports.squares) return by;
  const double root = std::sqrt(std::bit_cast<double>(*ports.squares)), scale = std::bit_cast<double>(*ports.scale);
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

Cut exact_cut(const Given& given) {
  return sparse::cut_of_largest(given.call, given.from.all(), given.wanted, given.ports.entries.workspace);
}

/// Returns the magnitude that this share of a standard normal distribution exceeds.
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
/// deep learning (2019), algorithm 1. What counts as too few or too many follows its authors' code.
Cut gaussian_cut(const Topk& asked, const Given& given) {
  const kernels::Source from = given.from.all();
  if (given.wanted >= from.count) return exact_cut(given);
  const double count = static_cast<double>(from.count), wanted = static_cast<double>(given.wanted);
  const kernels::Backend& backend = given.call.backend;
  const Squares squares = squares_of(given.call, from);
  double sum = 0;
  backend.sum_of_powers(from, 1, squares.scale, &sum);
  const double mean = sum / count, deviation = std::sqrt(std::max(squares.sum / count - mean * mean, 0.0));
  double threshold = (std::abs(mean) + deviation * normal_quantile(wanted / count)) / squares.scale;
  if (!std::isfinite(threshold)) return exact_cut(given);
  Cut cut{.above = kernels::magnitude_of(from.dtype, threshold)};
  for (int step = 0; step < asked.steps; ++step) {
    std::uint64_t taken = 0;
    backend.count(from, &cut, &taken);
    const bool few = 3 * taken<2 * given.wanted, many = 3 * taken> 4 * given.wanted;
    if (!few && !many) break;
    threshold *= few ? 1 - asked.step : 1 + asked.step;
    cut.above = kernels::magnitude_of(from.dtype, threshold);
  }
  return cut;
}

Cut cut_of(const Given& given) {
  const KernelCall& call = given.call;
  const Topk& asked = topk_of(call.part.call);
  const Extent& sampled = *given.ports.sampled;
  Cut cut;
  switch (asked.selection) {
    case TopkSelection::Threshold:
      cut.above = kernels::magnitude_of(given.dtype(), asked.threshold);
      break;
    case TopkSelection::Sampled:
      if (sampled.count == 0) return exact_cut(given);
      call.backend.estimate(given.from.all(), given.wanted, sampled.count, sampler_of(call.part), sampled.data,
                            given.ports.entries.workspace->data, &cut);
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

/// Takes the elements that the cut takes. In two cases it takes exactly as many as are wanted instead: if the cut takes
/// more than there is room for, which a cut by a sample may do, or if it takes none although some are wanted, which a
/// cut by mean and deviation may do.
std::uint64_t take(const Given& given, Cut& cut) {
  const KernelCall& call = given.call;
  const sparse::WriteList& to = given.ports.selected;
  std::uint64_t taken = 0;
  call.backend.compact(given.from.all(), &cut, to.to(), &taken);
  const bool wants_some = topk_of(call.part.call).selection != TopkSelection::Threshold, takes_all = cut.above == 0;
  if (taken <= to.room() && (taken > 0 || takes_all || !wants_some)) return taken;
  cut = exact_cut(given);
  taken = 0;
  call.backend.compact(given.from.all(), &cut, to.to(), &taken);
  return taken;
}

void tell_taken(const Given& given, std::uint64_t taken, std::uint64_t left, const Cut& cut) {
  MeasureValues& measures = given.call.measures;
  *given.ports.count = taken;
  measures.tell(sparse::measure::selected, static_cast<double>(taken));
  measures.tell(sparse::measure::contributed, static_cast<double>(taken));
  measures.tell(sparse::measure::left, static_cast<double>(left));
  measures.tell(sparse::measure::threshold, kernels::number_of_magnitude(given.dtype(), cut.above));
}

/// Selects the largest of the entries that a call without feedback has brought. It takes all if they are no more than
/// wanted.
void select_of_entries(const Given& given, const List& sorted) {
  Cut cut;
  std::uint64_t taken = 0;
  if (sorted.count > given.wanted) {
    cut = sparse::cut_of_largest(given.call, {sorted.dtype, sorted.values, sorted.count}, given.wanted,
                                 given.ports.entries.workspace);
  }
  given.call.backend.keep(sorted.all(), &cut, given.ports.selected.to(), {.dtype = sorted.dtype}, &taken);
  sparse::scale_terms(given.call, given.ports.selected.list(taken));
  tell_taken(given, taken, sorted.count - taken, cut);
}

Status Select::operator()(const KernelCall& call) const {
  const Stopwatch watch(call, sparse::measure::select_time);
  const Given given(call, *this);
  if (sparse::brings_list(call.part)) {
    const auto sorted = entries.run(call);
    if (!sorted) return sorted.status();
    if (!given.from.feeds_back()) {
      select_of_entries(given, *sorted);
      return {};
    }
    given.from.add(*sorted);
  } else if (given.from.feeds_back()) {
    given.from.feed_back(feed_back_by(call, *this), sparse::all_places(call.part));
  }
  Cut cut = cut_of(given);
  const std::uint64_t taken = take(given, cut);
  const List sent = selected.list(taken);
  given.from.clear_at(sent.all_places(), topk_of(call.part.call).masking);
  given.from.drop_not_finite(call, sent, not_finite);
  sparse::scale_terms(call, sent);
  tell_taken(given, taken, given.from.count() - taken, cut);
  return {};
}

struct SumSquares {
  static constexpr std::string_view name = "sum of squares";
  Reads input;
  Define sum, scale;

  Status operator()(const KernelCall& call) const {
    const kernels::Target all = sparse::all_of(input);
    const Squares squares = squares_of(call, {all.dtype, all.data, all.count});
    *sum = std::bit_cast<std::uint64_t>(squares.sum);
    *scale = std::bit_cast<std::uint64_t>(squares.scale);
    return {};
  }
};

}  // namespace

sparse::Selection select(GraphBuilder& g) {
  const sparse::Selection mine = sparse::room_for_selection(g);
  Select select{.input = sparse::whole_input(g),
                .accumulator = sparse::accumulator_rooms(g),
                .selected = sparse::write(mine),
                .sampled = g.buffer({.capacity = samples}),
                .entries = sparse::sort_entries(g),
                .not_finite = sparse::rooms_to_drop(g),
                .count = mine.count};
  if (g.parameters<TopkForm>().clipped) {
    const Value squares = g.value(), scale = g.value();
    g.kernel(SumSquares{.input = sparse::whole_input(g), .sum = squares, .scale = scale});
    select.squares = squares;
    select.scale = scale;
  }
  g.kernel(std::move(select));
  return mine;
}

}  // namespace lacuna
