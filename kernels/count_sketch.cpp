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

/// Backend::sketch. A team writes one row. One thread adds, so that the sums have the same bits everywhere.
template <class T, class Cell>
struct SketchRow {
  SketchShape shape;
  RowHashes hashes;
  const std::byte* from;
  BlockMap map;
  std::byte* table;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t cells = shape.buckets * shape.block, row = team.number();
    std::byte* const to = table + row * cells * sizeof(Cell);
    team.each(cells, [&](std::size_t i) { store<Cell>(to, i, Cell{}); });
    team.barrier();
    team.once([&] { map.for_each_block([&](std::size_t b) { add(hashes.rows[row], b, to); }); });
  }

  KOKKOS_INLINE_FUNCTION void add(const RowHash& hash, std::size_t b, std::byte* to) const {
    const std::uint32_t x = mixed(static_cast<std::uint32_t>(b));
    const std::size_t first = hash.bucket(x, shape.buckets) * shape.block;
    const std::size_t begin = map.grid.begin(b), length = map.grid.size(b);
    const Cell sign = hash.is_negative(x) ? static_cast<Cell>(-1) : static_cast<Cell>(1);
    for (std::size_t lane = 0; lane < length; ++lane) {
      const Cell value = sign * cell_of<Cell>(load<T>(from, begin + lane));
      store<Cell>(to, first + lane, load<Cell>(to, first + lane) + value);
    }
  }
};

/// Backend::decode_sketch for the blocks of one word of the map.
template <class T>
struct DecodeKernel {
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
      Space::for_teams(shape.rows, 0, SketchRow<T, Cell>{shape, RowHashes(shape.seed), from.data, of, table.data});
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
        map.words,
        DecodeKernel<T>{shape, RowHashes(shape.seed), with, map, out.data, static_cast<Cell>(with.scale.multiplier),
                        static_cast<Cell>(with.scale.divisor), static_cast<Cell>(with.contributed)});
  });
}

}  // namespace lacuna::kernels
