#include "kernels/block_map.hpp"
#include "kernels/peel_table.hpp"
#include "kernels/peel_together.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

struct ClearBuckets {
  Bucket* at;
  KOKKOS_FUNCTION void operator()(std::size_t bucket) const { at[bucket] = {}; }
};

/// Counts which blocks lie in which buckets. A team takes some words of the map.
template <class Cell>
struct CountBlocks {
  PeelTable<Cell> table;
  BlockMap map;
  std::size_t teams;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t first = map.words * team.number() / teams, last = map.words * (team.number() + 1) / teams;
    team.each(last - first, [&](std::size_t i) {
      for_each_one(map.word(first + i), first + i, [&](std::size_t b) { count(static_cast<std::uint32_t>(b)); });
    });
  }

  KOKKOS_INLINE_FUNCTION void count(std::uint32_t b) const {
    const std::uint32_t x = mixed(b);
    for (std::size_t row = 0; row < table.shape.rows; ++row) {
      Bucket& bucket = table.in.at[table.bucket_of(row, x)];
      Space::Team::add(&bucket.blocks, std::uint32_t{1});
      Space::Team::add(&bucket.number, b);
    }
  }
};

/// Peels a table whose blocks have been counted, on one thread. It goes through the buckets that hold one block, peels
/// these blocks, and goes on with the buckets that then hold one.
template <class Cell>
struct PeelAlone {
  PeelTable<Cell> table;
  std::byte* left;
  Peeled* peeled;

  /// A round has two phases. The first one finds the blocks that lie alone in a bucket. The second one takes them out
  /// of their other buckets. It changes no bucket whose value it still reads, because that bucket holds one block only.
  KOKKOS_FUNCTION void operator()(const Space::Team& /*team*/) const {
    const PeelingRoom& in = table.in;
    std::size_t done = 0, next = 0, end = 0;
    for (std::size_t bucket = 0; bucket < table.buckets(); ++bucket) {
      if (in.at[bucket].blocks == 1) in.queue[end++] = static_cast<std::uint32_t>(bucket);
    }
    std::uint64_t rounds = 0;
    while (next < end) {
      const std::size_t first = done;
      for (const std::size_t last = end; next < last; ++next) {
        if (tells(in.queue[next])) in.homes[done++] = in.queue[next];
      }
      for (std::size_t i = first; i < done; ++i) end = take_out(in.homes[i], end);
      rounds += done > first ? 1 : 0;
    }
    *peeled = {.blocks = done, .rounds = rounds};
  }

  /// Does a bucket tell a block that no other one has told before?
  KOKKOS_INLINE_FUNCTION bool tells(std::uint32_t bucket) const {
    const std::uint32_t b = table.in.at[bucket].number;
    const auto bit = static_cast<unsigned>(1u << b % 8);
    const auto byte = static_cast<unsigned>(left[b / 8]);
    if (table.in.at[bucket].blocks != 1 || (byte & bit) == 0 || !table.is_finite(bucket)) return false;
    left[b / 8] = static_cast<std::byte>(byte & ~bit);
    return true;
  }

  /// Takes the block of a bucket that has told it out of its other buckets, and appends those that then hold one block.
  KOKKOS_INLINE_FUNCTION std::size_t take_out(std::uint32_t home, std::size_t end) const {
    const PeelingRoom& in = table.in;
    const std::uint32_t b = in.at[home].number, x = mixed(b);
    const std::size_t own_row = home / table.shape.buckets;
    in.at[home].blocks = 0;
    for (std::size_t row = 0; row < table.shape.rows; ++row) {
      if (row == own_row) continue;
      const std::size_t bucket = table.bucket_of(row, x);
      for (std::size_t lane = 0; lane < table.shape.block; ++lane) table.take_out(home, row, bucket, lane);
      in.at[bucket].number -= b;
      if (--in.at[bucket].blocks == 1) in.queue[end++] = static_cast<std::uint32_t>(bucket);
    }
    return end;
  }
};

/// Writes the value of a peeled block.
template <class T, class Cell>
struct PutPeeled {
  PeelTable<Cell> table;
  Scale scale;
  BlockMap map;
  std::byte* out;
  const Peeled* peeled;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    if (i >= peeled->blocks) return;
    const std::size_t home = table.in.homes[i], b = table.in.at[home].number;
    const RowHash& hash = table.hashes.rows[home / table.shape.buckets];
    const bool is_negative = hash.is_negative(mixed(static_cast<std::uint32_t>(b)));
    const std::size_t begin = map.grid.begin(b), length = map.grid.size(b);
    for (std::size_t lane = 0; lane < length; ++lane) {
      const Cell cell = load<Cell>(table.cells, home * table.shape.block + lane);
      store<T>(out, begin + lane, scaled(is_negative ? Cell{} - cell : cell));
    }
  }

  KOKKOS_INLINE_FUNCTION T scaled(Cell value) const {
    if constexpr (is_integer_element<T>) {
      return static_cast<T>(value);
    } else {
      return narrow<T>(static_cast<WideOf<T>>(value * scale.multiplier / scale.divisor));
    }
  }
};

/// Writes zeros to those blocks of a word of the map that are not in it, and copies the map's bits.
template <class T>
struct ClearOthers {
  BlockMap map;
  std::byte* left;
  std::byte* out;

  KOKKOS_FUNCTION void operator()(std::size_t w) const {
    const std::uint64_t word = map.word(w);
    if (word == 0) {
      const std::size_t end = map.end_of_word(w);
      for (std::size_t i = map.begin_of_word(w); i < end; ++i) store<T>(out, i, T{});
    } else {
      clear_between(word, w);
    }
    map.put_word(w, word, left);
  }

  KOKKOS_INLINE_FUNCTION void clear_between(std::uint64_t word, std::size_t w) const {
    const std::size_t first = w * word_bits, last = first + word_bits < map.blocks ? first + word_bits : map.blocks;
    for (std::size_t b = first; b < last; ++b) {
      const std::size_t length = (word >> b % word_bits & 1) != 0 ? 0 : map.grid.size(b);
      for (std::size_t lane = 0; lane < length; ++lane) store<T>(out, map.grid.begin(b) + lane, T{});
    }
  }
};

}  // namespace

void SpaceBackend::peel_sketch(const SketchShape& shape, const Peeling& with, Target table, Target out,
                               Peeled* peeled) const {
  const BlockMap map(with.map, out.count, shape.block);
  with_element(out.dtype, [&]<class T>(Element<T>) {
    using Cell = std::conditional_t<is_integer_element<T>, std::uint64_t, double>;
    const std::size_t buckets = shape.rows * shape.buckets;
    const std::size_t teams = map.words < Space::teams_at_once ? map.words : Space::teams_at_once;
    const PeelTable<Cell> peeling{shape, RowHashes(shape.seed), PeelingRoom(with.room, buckets), table.data};
    Space::for_each(map.words, ClearOthers<T>{map, with.left, out.data});
    Space::for_each(buckets, ClearBuckets{peeling.in.at});
    Space::for_teams(teams, 0, CountBlocks<Cell>{peeling, map, teams});
    if constexpr (Space::team_threads == 1) {
      Space::for_teams(1, 0, PeelAlone<Cell>{peeling, with.left, peeled});
    } else {
      Space::for_teams(1, PeelTogether<Cell>::scratch_bytes, PeelTogether<Cell>{peeling, peeled});
      Space::for_each(map.words, KeepUntold<Cell>{peeling, map, with.left});
    }
    Space::for_each(buckets, PutPeeled<T, Cell>{peeling, with.scale, map, out.data, peeled});
  });
}

}  // namespace lacuna::kernels
