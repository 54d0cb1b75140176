#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "algorithms/phases/ring_phases.hpp"
#include "algorithms/phases/sparse_histogram.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::sparse {
namespace {

constexpr std::size_t range_words = sizeof(Range) / sizeof(std::int64_t);

std::size_t words_of_ranges(const PartView& part) { return range_words * ranks_of(part); }

void write_ranges(const KernelCall& call, const Extent& table, auto end_of_range) {
  const std::size_t ranges = ranks_of(call.part);
  Range range;
  for (std::size_t i = 0; i < ranges; ++i) {
    const std::size_t end = i + 1 == ranges ? places_of(call.part) : end_of_range(i + 1);
    range = {range.end, static_cast<std::int64_t>(end), static_cast<std::int64_t>(i)};
    std::memcpy(table.data + i * sizeof(Range), &range, sizeof(Range));
  }
}

struct CutEvenly {
  static constexpr std::string_view name = "cut evenly";
  Write table;

  Status operator()(const KernelCall& call) const {
    write_ranges(call, *table, [&](std::size_t i) { return boundary(i, places_of(call.part), ranks_of(call.part)); });
    return {};
  }
};

/// Ports of the places of a selection.
struct ReadPlaces {
  Read places;
  Use count;

  std::span<const std::uint32_t> all() const { return {reinterpret_cast<const std::uint32_t*>(places->data), *count}; }
};
ReadPlaces read_places(const Selection& list) { return {list.places, list.count}; }

struct CountPlaces {
  static constexpr std::string_view name = "count places";
  ReadPlaces mine;
  Write histogram;

  Status operator()(const KernelCall& call) const {
    auto* words = reinterpret_cast<std::int64_t*>(histogram->data);
    const std::size_t all_bins = histogram->count / 2;
    std::memset(words, 0, histogram->bytes());
    call.backend.histogram(mine.all(), places_of(call.part), {words, all_bins}, {words + all_bins, all_bins});
    return {};
  }
};

/// Defines how many words of samples each rank tells the others.
struct WeighBins {
  static constexpr std::string_view name = "weigh bins";
  Read bins;
  Define words;

  Status operator()(const KernelCall& call) const {
    const Histogram histogram(*bins, call.part);
    if (Status sound = histogram.check(); !sound) return sound;
    histogram.each_sampled([&](const Histogram::Bin&, std::size_t samples) { *words += 1 + samples; });
    return {};
  }
};

struct SamplePlaces {
  static constexpr std::string_view name = "sample places";
  Read bins;
  ReadPlaces mine;
  Write samples;

  Status operator()(const KernelCall& call) const {
    const Histogram histogram(*bins, call.part);
    auto* words = reinterpret_cast<std::uint32_t*>(samples->data);
    histogram.each_sampled([&](const Histogram::Bin& bin, std::size_t count) {
      BinSamples::take(call, bin, count, mine.all(), words);
      words += 1 + count;
    });
    return {};
  }
};

/// Returns how many stretches a partition in so many words has. If possible, each rank's range is a whole number of
/// stretches.
std::size_t stretches_for(std::size_t words, std::size_t ranks) {
  return words < ranks ? words : words / ranks * ranks;
}

/// Writes the number of stretches, then where each stretch but the last ends. It computes with integers only, so that
/// all ranks get the same result.
struct PartitionByLoad {
  static constexpr std::string_view name = "partition by load";
  Read bins;
  Reads messages;  ///< the samples of all ranks
  Write partition;

  Status operator()(const KernelCall& call) const {
    const Histogram histogram(*bins, call.part);
    auto* const ends = reinterpret_cast<std::int64_t*>(partition->data);
    const std::size_t stretches = stretches_for(partition->count, ranks_of(call.part));
    std::fill_n(ends, partition->count, 0);
    ends[0] = static_cast<std::int64_t>(stretches);
    std::size_t next = 1;
    // Sets the ends that have at most `most` entries before them.
    const auto place_up_to = [&](std::uint64_t most, const auto& place_after) {
      for (; next < stretches; ++next) {
        const std::uint64_t wanted = boundary(next, histogram.entries(), stretches);
        if (wanted > most) return;
        ends[next] = static_cast<std::int64_t>(place_after(wanted));
      }
    };
    Histogram::Bin last = histogram.first();
    const auto as_if_even = [&](std::uint64_t wanted) {
      if (histogram.entries() == 0) return boundary(next, places_of(call.part), stretches);
      last = histogram.with(last, wanted);
      return last.begin + (last.entries == 0 ? 0 : boundary(wanted - last.before, last.length(), last.entries));
    };
    std::size_t word = 0;
    Status sound;
    histogram.each_sampled([&](const Histogram::Bin& bin, std::size_t count) {
      const BinSamples samples(bin, count, messages, word, call.part);
      if (sound) sound = samples.check();
      if (!sound) return;
      place_up_to(bin.before, as_if_even);
      place_up_to(bin.before + bin.entries - 1,
                  [&](std::uint64_t wanted) { return samples.place_after(wanted - bin.before); });
      word += 1 + count;
    });
    place_up_to(histogram.entries(), as_if_even);
    return sound;
  }
};

/// Makes ranges from a partition. A range ends where a stretch ends, or between two such ends if the numbers of
/// stretches and ranges do not fit.
struct LayRanges {
  static constexpr std::string_view name = "lay ranges";
  Read partition;
  Write table;

  Status operator()(const KernelCall& call) const {
    const auto* ends = reinterpret_cast<const std::int64_t*>(partition->data);
    const std::size_t places = places_of(call.part), ranges = ranks_of(call.part);
    const auto stretches = static_cast<std::size_t>(ends[0]);
    const auto end_of = [&](std::size_t i) { return static_cast<std::size_t>(i == 0 ? 0 : ends[i]); };
    if (ends[0] < 0 || stretches > partition->count) {
      return {Code::Mismatch, fmt::format("the state's partition has {}, must be 0 .. {}", count_of(ends[0], "stretch"),
                                          partition->count)};
    }
    for (std::size_t i = 1; i < stretches; ++i) {
      if (end_of(i) >= end_of(i - 1) && end_of(i) <= places) continue;
      return {Code::Mismatch, fmt::format("the state's partition of {} ends stretch {} at {}, the one before it at {}",
                                          count_of(places, "place"), i, ends[i], end_of(i - 1))};
    }
    write_ranges(call, *table, [&](std::size_t i) {
      if (stretches == 0) return boundary(i, places, ranges);
      const std::size_t stretch = i * stretches / ranges, rest = i * stretches % ranges;
      const std::size_t end = stretch + 1 == stretches ? places : end_of(stretch + 1);
      return end_of(stretch) + (rest == 0 ? 0 : boundary(rest, end - end_of(stretch), ranges));
    });
    return {};
  }
};

constexpr BufferInfo table_of(Dtype element, std::size_t (*capacity)(const PartView& part)) {
  return {.element = element, .capacity = capacity, .memory = MemoryKind::Host};
}
constexpr BufferInfo table_of_ranges = table_of(Dtype::I64, words_of_ranges),
                     histogram_room = table_of(Dtype::I64, words_of_histogram),
                     samples_room = table_of(Dtype::I32, most_words_of_samples),
                     ends_of_ranges = table_of(Dtype::I64, ranks_of);

/// Returns the histogram of the entries that all ranks have selected, which is made by a ring allreduce of 64-bit
/// integers.
Region reduce_histogram(GraphBuilder& g, const Selection& mine) {
  const Region words = g.buffer(histogram_room);
  g.kernel(CountPlaces{.mine = read_places(mine), .histogram = words});
  const Line ring = whole_ring(g);
  const auto piece = [&](Rank i) { return piece_of(words, i, g.size()); };
  const auto partial = [&](Rank, Rank i) { return piece(i); };
  if (g.size() > 1) ring_reduce_scatter(g, ring, piece, partial);
  ring_allgather(g, ring, piece);
  return words;
}

/// Returns the samples of all ranks, by rank, after they have gone around the ring. If none are needed, nothing is
/// sent.
std::vector<Region> gather_samples(GraphBuilder& g, const Selection& mine, const Region& histogram) {
  const Value length = g.agreed();
  g.kernel(WeighBins{.bins = histogram, .words = length});
  std::vector<Region> samples;
  for (Rank rank = 0; rank < g.size(); ++rank) samples.push_back(GraphBuilder::counted(g.buffer(samples_room), length));
  const auto samples_of = [&](Rank rank) { return samples[static_cast<std::size_t>(rank)]; };
  g.kernel(SamplePlaces{.bins = histogram, .mine = read_places(mine), .samples = samples_of(g.position())});
  ring_allgather(g, whole_ring(g), samples_of);
  return samples;
}

}  // namespace

Range range_of(const Extent& table, Rank rank) {
  Range range;
  std::memcpy(&range, table.data + static_cast<std::size_t>(rank) * sizeof(Range), sizeof(Range));
  return range;
}

int bins_for(std::size_t entries, Rank size) {
  constexpr std::size_t most = 2048, entries_of_bin = 32, bins_of_range = 2;
  const std::size_t bins = entries / entries_of_bin, least = bins_of_range * static_cast<std::size_t>(size);
  if (bins < least || size == 1) return 0;
  return static_cast<int>(std::max(std::bit_floor(std::min(most, bins)), least));
}

Region even_ranges(GraphBuilder& g) {
  const Region table = g.buffer(table_of_ranges);
  g.kernel(CutEvenly{.table = table});
  return table;
}

void partition_by_load(GraphBuilder& g, const Selection& mine, const Region& partition) {
  const Region histogram = reduce_histogram(g, mine);
  g.kernel(PartitionByLoad{.bins = histogram, .messages = gather_samples(g, mine, histogram), .partition = partition});
}

Region ranges_by(GraphBuilder& g, const Region& partition) {
  const Region table = g.buffer(table_of_ranges);
  g.kernel(LayRanges{.partition = partition, .table = table});
  return table;
}

Region balanced_ranges(GraphBuilder& g, const Selection& mine) {
  const Region partition = g.buffer(ends_of_ranges);
  partition_by_load(g, mine, partition);
  return ranges_by(g, partition);
}

}  // namespace lacuna::sparse
