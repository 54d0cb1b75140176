#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "algorithms/phases/ring_phases.hpp"
#include "algorithms/phases/sparse_kernels.hpp"

namespace lacuna::sparse {
namespace {

constexpr std::size_t range_words = sizeof(Range) / sizeof(std::int64_t);

std::size_t bins_of(const PartView& part) { return static_cast<std::size_t>(part.part.structure.numbers[bins]); }
std::size_t words_of_ranges(const PartView& part) { return range_words * static_cast<std::size_t>(part.size); }

void write_ranges(const KernelCall& call, auto boundary_of) {
  const auto ranges = static_cast<std::size_t>(call.part.size);
  Range range;
  for (std::size_t i = 0; i < ranges; ++i) {
    const std::size_t end = i + 1 == ranges ? places_of(call.part) : boundary_of(i + 1);
    range = {range.end, static_cast<std::int64_t>(end), static_cast<std::int64_t>(i)};
    std::memcpy(call.writes[0].data + i * sizeof(Range), &range, sizeof(Range));
  }
}

Status cut_evenly(const KernelCall& call) {
  const auto ranges = static_cast<std::size_t>(call.part.size);
  write_ranges(call, [&](std::size_t i) { return boundary(i, places_of(call.part), ranges); });
  return {};
}

Status count_places(const KernelCall& call) {
  const auto* places = reinterpret_cast<const std::uint32_t*>(call.reads[0].data);
  auto* counts = reinterpret_cast<std::int64_t*>(call.writes[0].data);
  std::memset(counts, 0, call.writes[0].bytes());
  kernels::backend().histogram({places, call.uses[0]}, places_of(call.part), {counts, bins_of(call.part)});
  return {};
}

/// Entries that so many ranks may have in each place of a histogram of earlier calls: those of another job's ranks.
constexpr std::size_t most_terms = 65536;

/// Within a bin entries count as evenly spread. Whole numbers only: all ranks cut alike. given[0]: has it just been
/// reduced, by these ranks?
Status cut_by_histogram(const KernelCall& call) {
  const auto* counts = reinterpret_cast<const std::int64_t*>(call.reads[0].data);
  const auto count = [&](std::size_t bin) { return static_cast<std::uint64_t>(counts[bin]); };
  const std::size_t places = places_of(call.part), ranges = static_cast<std::size_t>(call.part.size),
                    all_bins = bins_of(call.part), terms = call.given[0] ? ranges : most_terms;
  std::uint64_t all = 0, before = 0;
  for (std::size_t bin = 0; bin < all_bins; ++bin) {
    const std::size_t width = boundary(bin + 1, places, all_bins) - boundary(bin, places, all_bins);
    if (count(bin) > (width + 1) * terms) {  // its borders are rounded up
      const auto said = static_cast<std::int64_t>(count(bin));
      if (!call.given[0]) {
        return {Code::Mismatch, fmt::format("the state's histogram counts {} entries of {} places", said, width)};
      }
      return {Code::Mismatch, fmt::format("{} ranks say that they have selected {} of {} places", ranges, said, width)};
    }
    all += count(bin);
  }
  std::size_t bin = 0;
  write_ranges(call, [&](std::size_t i) {
    const std::uint64_t wanted = boundary(i, all, ranges);
    if (all == 0) return boundary(i, places, ranges);
    while (before + count(bin) < wanted) before += count(bin++);
    const std::size_t begin = boundary(bin, places, all_bins), end = boundary(bin + 1, places, all_bins);
    return begin + (count(bin) == 0 ? 0 : boundary(wanted - before, end - begin, count(bin)));
  });
  return {};
}

constexpr Kernel cut_evenly_kernel = {"cut evenly", cut_evenly}, count_places_kernel = {"count places", count_places},
                 cut_by_histogram_kernel = {"cut by histogram", cut_by_histogram};
constexpr BufferInfo table_of_ranges = {.element = Dtype::I64, .capacity = words_of_ranges};

}  // namespace

Range range_of(const Extent& table, Rank rank) {
  Range range;
  std::memcpy(&range, table.data + static_cast<std::size_t>(rank) * sizeof(Range), sizeof(Range));
  return range;
}

int bins_for(std::size_t entries, Rank size) {
  constexpr std::size_t most = 4096, entries_of_bin = 16, bins_of_range = 4;
  const std::size_t bins = std::bit_floor(std::min(most, entries / entries_of_bin));
  return bins < bins_of_range * static_cast<std::size_t>(size) || size == 1 ? 0 : static_cast<int>(bins);
}

Region even_ranges(GraphBuilder& g) {
  const Region table = g.buffer(table_of_ranges);
  g.kernel(cut_evenly_kernel, {.writes = {table}});
  return table;
}

const BufferInfo histogram_room = {.element = Dtype::I64, .capacity = bins_of};

void reduce_histogram(GraphBuilder& g, const Selection& mine, const Region& counts) {
  g.kernel(count_places_kernel, {.reads = {mine.places}, .writes = {counts}, .uses = {mine.count}});
  const Line ring = whole_ring(g);
  const auto piece = [&](Rank i) { return piece_of(counts, i, g.size()); };
  const auto partial = [&](Rank, Rank i) { return piece(i); };
  if (g.size() > 1) ring_reduce_scatter(g, ring, piece, partial);
  ring_allgather(g, ring, piece);
}

Region ranges_by(GraphBuilder& g, const Region& counts, bool of_this_call) {
  const Region table = g.buffer(table_of_ranges);
  g.kernel(cut_by_histogram_kernel, {.reads = {counts}, .writes = {table}, .given = {of_this_call}});
  return table;
}

Region balanced_ranges(GraphBuilder& g, const Selection& mine) {
  const Region counts = g.buffer(histogram_room);
  reduce_histogram(g, mine, counts);
  return ranges_by(g, counts, true);
}

}  // namespace lacuna::sparse
