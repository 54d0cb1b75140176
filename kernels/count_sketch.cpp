#include <cmath>
#include <limits>

#include "kernels/block_map.hpp"
#include "kernels/hashes.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

/// The number that a cell adds up for an element. Integers become 64 bits long and wrap around.
template <class Cell, class T>
KOKKOS_INLINE_FUNCTION Cell cell_of(T value) {
  if constexpr (is_integer_element<T>) {
    return static_cast<Cell>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<Cell>(widen(value));
  }
}

/// Buckets of a row, from `begin` on.
struct BucketRange {
  std::size_t begin, end;

  /// The part with number `i` of so many parts.
  KOKKOS_INLINE_FUNCTION BucketRange part(std::size_t i, std::size_t parts) const {
    const std::size_t length = end - begin;
    return {begin + length * i / parts, begin + length * (i + 1) / parts};
  }
  KOKKOS_INLINE_FUNCTION bool has(std::size_t bucket) const { return begin <= bucket && bucket < end; }
};

/// Backend::sketch. A team writes some buckets of one row. A cell belongs to one thread, which adds the blocks in
/// order, so that the sums have the same bits everywhere.
template <class T, class Cell>
struct SketchRow {
  static constexpr std::size_t words_at_once = 256;
  static constexpr std::size_t scratch_bytes = words_at_once * sizeof(std::uint64_t);

  SketchShape shape;
  RowHashes hashes;
  const std::byte* from;
  BlockMap map;
  std::byte* table;
  std::size_t teams;  ///< of each row

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t row = team.number() / teams;
    const BucketRange own = BucketRange{0, shape.buckets}.part(team.number() % teams, teams);
    std::byte* const to = table + row * shape.buckets * shape.block * sizeof(Cell);
    team.each((own.end - own.begin) * shape.block,
              [&](std::size_t i) { store<Cell>(to, own.begin * shape.block + i, Cell{}); });
    team.barrier();
    if constexpr (Space::team_threads == 1) {
      map.for_each_block([&](std::size_t b) { add(hashes.rows[row], b, own, 0, to); });
    } else {
      add_together(team, hashes.rows[row], own, to);
    }
  }

  /// Finds out which blocks belong to the team's buckets, with a thread for each word of the map. Then each thread adds
  /// those of its own cells.
  KOKKOS_INLINE_FUNCTION void add_together(const Space::Team& team, const RowHash& hash, const BucketRange& own,
                                           std::byte* to) const {
    auto* const words = team.scratch<std::uint64_t>();
    for (std::size_t first = 0; first < map.words; first += words_at_once) {
      const std::size_t count = map.words - first < words_at_once ? map.words - first : words_at_once;
      team.each(count, [&](std::size_t i) { words[i] = among(own, hash, first + i); });
      team.barrier();
      team.each(parts() * lane_step(), [&](std::size_t thread) {
        const BucketRange mine = own.part(thread / lane_step(), parts());
        for (std::size_t i = 0; i < count; ++i) {
          for_each_one(words[i], first + i, [&](std::size_t b) { add(hash, b, mine, thread % lane_step(), to); });
        }
      });
      team.barrier();
    }
  }

  /// The blocks of a word that belong to some buckets.
  KOKKOS_INLINE_FUNCTION std::uint64_t among(const BucketRange& buckets, const RowHash& hash, std::size_t w) const {
    std::uint64_t kept = 0;
    for_each_one(map.word(w), w, [&](std::size_t b) {
      const bool is_there = buckets.has(hash.bucket(mixed(static_cast<std::uint32_t>(b)), shape.buckets));
      kept |= std::uint64_t{is_there ? 1u : 0u} << b % word_bits;
    });
    return kept;
  }

  /// So many threads share the lanes of a bucket.
  KOKKOS_INLINE_FUNCTION std::size_t lane_step() const {
    return shape.block < Space::team_threads ? shape.block : Space::team_threads;
  }
  /// Into so many parts the buckets of a team are cut.
  KOKKOS_INLINE_FUNCTION std::size_t parts() const { return Space::team_threads / lane_step(); }

  /// Adds a block, unless its bucket is none of these: the lane `first` and every lane_step()-th one from there on.
  KOKKOS_INLINE_FUNCTION void add(const RowHash& hash, std::size_t b, const BucketRange& buckets, std::size_t first,
                                  std::byte* to) const {
    const std::uint32_t x = mixed(static_cast<std::uint32_t>(b));
    const std::size_t bucket = hash.bucket(x, shape.buckets);
    if (!buckets.has(bucket)) return;
    const std::size_t cells = bucket * shape.block, begin = map.grid.begin(b), length = map.grid.size(b);
    const std::size_t step = Space::team_threads == 1 ? 1 : lane_step();
    const Cell sign = hash.is_negative(x) ? static_cast<Cell>(-1) : static_cast<Cell>(1);
    for (std::size_t lane = first; lane < length; lane += step) {
      const Cell value = cell_of<Cell>(load<T>(from, begin + lane));
      store<Cell>(to, cells + lane, load<Cell>(to, cells + lane) + (is_lost(value) ? nan() : sign * value));
    }
  }

  /// Is this a zero whose sign is to be kept?
  KOKKOS_INLINE_FUNCTION bool is_lost(Cell value) const {
    if constexpr (is_integer_element<Cell>) return false;
    return shape.signs_zeros && value == Cell{} && std::signbit(static_cast<double>(value));
  }
  KOKKOS_INLINE_FUNCTION static Cell nan() { return std::numeric_limits<Cell>::quiet_NaN(); }
};

/// Backend::decode_sketch for the blocks of one word of the map.
template <class T>
struct DecodeCellsKernel {
  using Cell = WideOf<T>;

  SketchShape shape;
  RowHashes hashes;
  Decoding with;
  BlockMap map;
  std::byte* out;
  Cell multiplier, divisor, contributed;

  /// The cells of a block, and its signs.
  struct Cells {
    std::size_t first[SketchShape::most_rows];
    Cell sign[SketchShape::most_rows];
  };

  KOKKOS_FUNCTION void operator()(std::size_t w) const {
    const std::size_t end = map.end_of_word(w);
    for (std::size_t i = map.begin_of_word(w); i < end; ++i) store<T>(out, i, T{});
    for_each_one(map.word(w), w, [&](std::size_t b) { decode(b); });
  }

  KOKKOS_INLINE_FUNCTION void decode(std::size_t b) const {
    const std::uint32_t x = mixed(static_cast<std::uint32_t>(b));
    Cells cells;
    for (std::size_t row = 0; row < shape.rows; ++row) {
      cells.first[row] = (row * shape.buckets + hashes.rows[row].bucket(x, shape.buckets)) * shape.block;
      cells.sign[row] = hashes.rows[row].is_negative(x) ? Cell{-1} : Cell{1};
    }
    const std::size_t begin = map.grid.begin(b), length = map.grid.size(b);
    for (std::size_t lane = 0; lane < length; ++lane) {
      const std::size_t i = begin + lane;
      if (with.estimate == Estimate::Mean) {
        put(i, mean(cells, lane, with.table), with.residual ? mean(cells, lane, with.own_table) : Cell{});
      } else {
        const std::size_t row = median_row(cells, lane);
        put(i, value(cells, row, lane, with.table), with.residual ? value(cells, row, lane, with.own_table) : Cell{});
      }
    }
  }

  KOKKOS_INLINE_FUNCTION void put(std::size_t i, Cell estimate, Cell own) const {
    store<T>(out, i, narrow<T>(estimate * multiplier / divisor));
    if (with.residual) {
      store<T>(with.residual, i, narrow<T>(widen(load<T>(with.residual, i)) - own * contributed));
    }
  }

  KOKKOS_INLINE_FUNCTION Cell value(const Cells& cells, std::size_t row, std::size_t lane,
                                    const std::byte* table) const {
    return cells.sign[row] * load<Cell>(table, cells.first[row] + lane);
  }
  KOKKOS_INLINE_FUNCTION Cell mean(const Cells& cells, std::size_t lane, const std::byte* table) const {
    Cell sum{};
    for (std::size_t row = 0; row < shape.rows; ++row) sum += value(cells, row, lane, table);
    return sum / static_cast<Cell>(shape.rows);
  }
  /// The row whose estimate is the median.
  KOKKOS_INLINE_FUNCTION std::size_t median_row(const Cells& cells, std::size_t lane) const {
    if (shape.rows == 1) return 0;
    std::size_t order[SketchShape::most_rows];
    for (std::size_t row = 0; row < shape.rows; ++row) {
      std::size_t at = row;
      const Cell here = value(cells, row, lane, with.table);
      for (; at > 0 && here < value(cells, order[at - 1], lane, with.table); --at) order[at] = order[at - 1];
      order[at] = row;
    }
    return order[shape.rows / 2];
  }
};

}  // namespace

void SpaceBackend::sketch(const SketchShape& shape, Source from, const std::byte* map, Target table) const {
  const BlockMap of(map, from.count, shape.block);
  with_element(from.dtype, [&]<class T>(Element<T>) {
    const auto run = [&]<class Cell>(Cell) {
      using Kernel = SketchRow<T, Cell>;
      const std::size_t teams = shape.buckets < Space::teams_at_once ? shape.buckets : Space::teams_at_once;
      Space::for_teams(shape.rows * teams, Kernel::scratch_bytes,
                       Kernel{shape, RowHashes(shape.seed), from.data, of, table.data, teams});
    };
    if constexpr (is_integer_element<T>) {
      run(std::uint64_t{});
    } else if (table.dtype == Dtype::F64) {
      run(double{});
    } else {
      run(float{});
    }
  });
}

void SpaceBackend::decode_sketch(const SketchShape& shape, const Decoding& with, Target out) const {
  const BlockMap map(with.map, out.count, shape.block);
  with_floating_element(out.dtype, [&]<class T>(Element<T>) {
    using Cell = WideOf<T>;
    Space::for_each(
        map.words, DecodeCellsKernel<T>{shape, RowHashes(shape.seed), with, map, out.data,
                                        static_cast<Cell>(with.scale.multiplier), static_cast<Cell>(with.scale.divisor),
                                        static_cast<Cell>(with.contributed)});
  });
}

}  // namespace lacuna::kernels
