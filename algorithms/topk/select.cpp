#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "algorithms/phases/sparse_kernels.hpp"
#include "algorithms/topk/selecting.hpp"
#include "kernels/elements.hpp"

namespace lacuna {
namespace {

using kernels::backend;
using kernels::Cut;

std::size_t samples(const PartView& part) {
  return topk_of(part.call).selection == TopkSelection::Sampled ? topk_of(part.call).samples : 0;
}

std::size_t entries_given(const PartView& part) { return part.call.input_entries.count; }

/// Blocks of a collective lie behind each other.
kernels::Target all_of(std::span<const Extent> blocks) {
  std::size_t count = 0;
  for (const Extent& block : blocks) count += block.count;
  return {blocks.front().dtype, blocks.front().data, count};
}
kernels::Source source(const kernels::Target& target) { return {target.dtype, target.data, target.count}; }

/// What a select step is given.
struct Given {
  explicit Given(const KernelCall& call) {
    const std::size_t blocks = call.reads.size();
    input = all_of(call.reads);
    std::span<const Extent> rest = call.writes;
    if (sparse::has(call.part, sparse::feedback)) {
      from = all_of(rest.first(blocks));
      rest = rest.subspan(blocks);
    } else {
      from = input;
    }
    if (sparse::has(call.part, sparse::velocity)) {
      velocity = all_of(rest.first(blocks));
      rest = rest.subspan(blocks);
    }
    list = sparse::List::of(rest[0], rest[1], 0);
    room = rest[0].count;
    workspace = rest[2].data;
    sampled = rest[3].data;
    sorted = sparse::List::of(rest[4], rest[5], 0);
    spare = sparse::List::of(rest[6], rest[7], 0);
    wanted = entries_asked(topk_of(call.part.call), input.count, call.part.state_run);
  }

  kernels::Target input, from, velocity{};
  sparse::List list, sorted, spare;
  std::size_t room, wanted;
  std::byte *workspace, *sampled;

  kernels::EntriesList to() const { return {list.places, list.values, room}; }
};

/// The norm to which an input is scaled down is that of a mean of P ranks' (Deep gradient compression, section 3.2).
double clipping(const KernelCall& call) {
  const Topk& asked = topk_of(call.part.call);
  if (call.uses.empty()) return 1;
  const double norm = std::sqrt(std::bit_cast<double>(call.uses[0]));
  const double most = asked.clip / std::sqrt(static_cast<double>(call.part.size));
  return norm > most ? most / norm : 1;
}

Sampler sampler_of(const PartView& part) {
  Sampler sampler = part.call.options.state ? part.call.options.state->sampler : Sampler();
  sampler.key += static_cast<std::uint64_t>(part.position);
  sampler.draw = part.state_run;
  return sampler;
}

Cut exact_cut(const Given& given) {
  Cut cut;
  backend().largest(source(given.from), given.wanted, given.workspace, &cut);
  return cut;
}

/// The magnitude that as large a share of a normal distribution exceeds.
double normal_quantile(double share) {
  double low = 0, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > share ? low : high) = middle;
  }
  return high;
}

/// As if magnitudes were those of a normal distribution around the mean's; then the threshold is moved while it takes
/// too few or too many. Source: Shi, Chu, Cheung, See: Understanding top-k sparsification in distributed deep learning
/// (2019), algorithm 1, with the third of k and the three halves of its authors' code.
Cut gaussian_cut(const Topk& asked, const Given& given) {
  const kernels::Source from = source(given.from);
  if (given.wanted >= from.count) return exact_cut(given);
  const double count = static_cast<double>(from.count), wanted = static_cast<double>(given.wanted);
  double sum = 0, squares = 0;
  backend().sum_of_powers(from, 1, &sum);
  backend().sum_of_powers(from, 2, &squares);
  const double mean = sum / count, deviation = std::sqrt(std::max(squares / count - mean * mean, 0.0));
  double threshold = std::abs(mean) + deviation * normal_quantile(wanted / count);
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
      cut.above = kernels::magnitude_of(given.from.dtype, asked.threshold);
      break;
    case TopkSelection::Sampled:
      backend().estimate(source(given.from), given.wanted, asked.samples, sampler_of(call.part), given.sampled,
                         given.workspace, &cut);
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

/// What the cut takes; where a sample has told more than there is room for, exactly as many as are wanted.
std::uint64_t take(const Given& given, Cut& cut) {
  std::uint64_t taken = 0;
  backend().compact(source(given.from), &cut, given.to(), &taken);
  if (taken <= given.room) return taken;
  cut = exact_cut(given);
  taken = 0;
  backend().compact(source(given.from), &cut, given.to(), &taken);
  return taken;
}

void count(const KernelCall& call, std::uint64_t taken, std::uint64_t kept, const Cut& cut) {
  call.defines[0] = taken;
  call.counted.selected += taken;
  call.counted.contributed += taken;
  call.counted.kept += kept;
  call.counted.numbers[static_cast<std::size_t>(sparse::Measure::Threshold)] +=
      kernels::number_of_magnitude(call.part.call.dtype, cut.above);
}

/// The entries that the call has brought, sorted.
Status sort_input(const KernelCall& call, Given& given) {
  const Call& asked = call.part.call;
  const std::size_t entries = asked.input_entries.count;
  const auto room = [&](const sparse::List& list) { return kernels::EntriesList{list.places, list.values, entries}; };
  const kernels::EntriesView all{.entries = static_cast<std::uint32_t>(entries),
                                 .places = reinterpret_cast<const std::byte*>(asked.input_entries.places),
                                 .values = static_cast<const std::byte*>(asked.input)};
  std::uint64_t taken = 0, sound = 0;
  backend().sort(asked.dtype, all, given.input.count, room(given.sorted), room(given.spare), given.workspace, &taken,
                 &sound);
  given.sorted.count = taken;
  if (sound == 1) return {};
  return {Code::InvalidArgument,
          fmt::format("an entry of the input has a place that is not below its {} elements", given.input.count)};
}

/// Without feedback: the largest of the entries that the call has brought, all if they are no more than wanted.
Status select_of_entries(const KernelCall& call, const Given& given) {
  const kernels::Source values{given.list.dtype, given.sorted.values, given.sorted.count};
  Cut cut;
  std::uint64_t taken = 0;
  if (values.count > given.wanted) backend().largest(values, given.wanted, given.workspace, &cut);
  backend().compact(values, &cut, given.to(), &taken);
  for (std::size_t i = 0; i < taken; ++i) given.list.places[i] = given.sorted.places[given.list.places[i]];
  count(call, taken, values.count - taken, cut);
  return {};
}

Status select_entries(const KernelCall& call) {
  const sparse::Stopwatch watch(call, sparse::Measure::SelectSeconds);
  const Topk& asked = topk_of(call.part.call);
  const bool feeds_back = sparse::has(call.part, sparse::feedback);
  Given given(call);
  if (call.part.call.input_entries.places) {
    if (Status sound = sort_input(call, given); !sound) return sound;
    if (!feeds_back) return select_of_entries(call, given);
    backend().add_at({given.sorted.places, given.sorted.count}, given.sorted.values, given.from);
  } else if (feeds_back) {
    backend().feed_back({.factor = clipping(call), .momentum = asked.momentum}, given.from, given.velocity.data,
                        given.input.data);
  }
  Cut cut = cut_of(call, given);
  const std::uint64_t taken = take(given, cut);
  const std::span<const std::uint32_t> places(given.list.places, taken);
  if (feeds_back) backend().clear_at(places, given.from);
  if (given.velocity.data && asked.masking) backend().clear_at(places, given.velocity);
  count(call, taken, given.from.count - taken, cut);
  return {};
}

Status sum_squares(const KernelCall& call) {
  double sum = 0;
  backend().sum_of_powers(source(all_of(call.reads)), 2, &sum);
  call.defines[0] = std::bit_cast<std::uint64_t>(sum);
  return {};
}

constexpr Kernel select_kernel = {"select", select_entries}, sum_squares_kernel = {"sum of squares", sum_squares};

}  // namespace

sparse::Selection select(GraphBuilder& g) {
  const sparse::Selection mine = sparse::room_for_selection(g);
  const std::vector<Region> input = sparse::whole_input(g);
  std::vector<Region> writes;
  const auto write = [&](const std::vector<Region>& more) { writes = sparse::joined(std::move(writes), more); };
  if (sparse::has(g, sparse::feedback)) write(sparse::whole_array(g, residual_array));
  if (sparse::has(g, sparse::velocity)) write(sparse::whole_array(g, velocity_array));
  write({mine.places, mine.values, g.buffer({.element = Dtype::U8, .capacity = sparse::workspace_bytes}),
         g.buffer({.capacity = samples})});
  for (int list = 0; list < 2; ++list) {
    write({g.buffer({.element = Dtype::I32, .capacity = entries_given}), g.buffer({.capacity = entries_given})});
  }
  std::vector<Value> uses;
  if (sparse::has(g, sparse::clipped)) {
    uses.push_back(g.value());
    g.kernel(sum_squares_kernel, {.reads = input, .defines = uses});
  }
  g.kernel(select_kernel, {.reads = input, .writes = writes, .uses = uses, .defines = {mine.count}});
  return mine;
}

}  // namespace lacuna
