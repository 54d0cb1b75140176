#include "kernels/block_map.hpp"
#include "kernels/hashes.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

/// What is known of a bucket.
struct Bucket {
  std::uint32_t blocks;  // how many blocks lie there that have not been peeled
  std::uint32_t number;  // the numbers of these blocks, added up by xor; of a peeled bucket, that of its block
};

/// The buckets of all rows, and their numbers in the order in which they are peeled.
struct Buckets {
  Bucket* at;
  std::uint32_t* queue;  // peeled buckets, then buckets that hold one block

  Buckets(std::uint32_t* room, const SketchShape& shape)
      : at(reinterpret_cast<Bucket*>(room)), queue(room + 2 * shape.rows * shape.buckets) {}
};

/// Backend::peel_sketch without the result. It computes which buckets hold one block, peels these blocks, and goes on
/// with the buckets that then hold one. One thread does this, so that sums have the same bits everywhere.
template <class Cell>
struct PeelKernel {
  SketchShape shape;
  RowHashes hashes;
  Buckets in;
  BlockMap map;
  std::byte* left;
  std::byte* table;
  Peeled* peeled;

  KOKKOS_FUNCTION void operator()(const Space::Team& team) const {
    team.each(shape.rows * shape.buckets, [&](std::size_t bucket) {
      in.at[bucket].blocks = 0;
      in.at[bucket].number = 0;
    });
    team.barrier();
    team.once([&] {
      count();
      peel();
    });
  }

  KOKKOS_INLINE_FUNCTION std::size_t bucket_of(std::size_t row, std::uint32_t x) const {
    return row * shape.buckets + hashes.rows[row].bucket(x, shape.buckets);
  }

  KOKKOS_INLINE_FUNCTION void count() const {
    map.for_each_block([&](std::size_t b) {
      const std::uint32_t x = mixed(static_cast<std::uint32_t>(b));
      for (std::size_t row = 0; row < shape.rows; ++row) {
        const std::size_t bucket = bucket_of(row, x);
        ++in.at[bucket].blocks;
        in.at[bucket].number ^= static_cast<std::uint32_t>(b);
      }
    });
  }

  /// A round has two phases. The first one finds the blocks that lie alone in a bucket. The second one takes them out
  /// of their other buckets. It changes no bucket whose value it still reads, because that bucket holds one block only.
  KOKKOS_INLINE_FUNCTION void peel() const {
    std::size_t done = 0, next = 0, end = 0;
    for (std::size_t bucket = 0; bucket < shape.rows * shape.buckets; ++bucket) {
      if (in.at[bucket].blocks == 1) in.queue[end++] = static_cast<std::uint32_t>(bucket);
    }
    std::uint64_t rounds = 0;
    while (next < end) {
      const std::size_t first = done;
      for (const std::size_t last = end; next < last; ++next) {
        if (take(in.queue[next])) in.queue[done++] = in.queue[next];
      }
      for (std::size_t i = first; i < done; ++i) end = subtract(in.queue[i], end);
      rounds += done > first ? 1 : 0;
    }
    peeled->blocks = done;
    peeled->rounds = rounds;
  }

  /// Takes the block of a bucket that holds one, unless another bucket has given it before, or its sum is not finite: a
  /// cell that once held an infinity or a NaN tells nothing of its other blocks.
  KOKKOS_INLINE_FUNCTION bool take(std::uint32_t bucket) const {
    const std::uint32_t b = in.at[bucket].number;
    const auto bit = static_cast<unsigned>(1u << b % 8);
    const auto byte = static_cast<unsigned>(left[b / 8]);
    if (in.at[bucket].blocks != 1 || (byte & bit) == 0 || !is_finite(bucket)) return false;
    left[b / 8] = static_cast<std::byte>(byte & ~bit);
    return true;
  }

  KOKKOS_INLINE_FUNCTION bool is_finite(std::uint32_t bucket) const {
    if constexpr (!is_integer_element<Cell>) {
      for (std::size_t lane = 0; lane < shape.block; ++lane) {
        const Cell cell = load<Cell>(table, bucket * shape.block + lane);
        if (!(cell - cell == Cell{})) return false;
      }
    }
    return true;
  }

  /// Takes the block of a peeled bucket out of its other buckets, and appends those that then hold one block.
  KOKKOS_INLINE_FUNCTION std::size_t subtract(std::uint32_t peeled_bucket, std::size_t end) const {
    const std::uint32_t b = in.at[peeled_bucket].number, x = mixed(b);
    const std::size_t own_row = peeled_bucket / shape.buckets;
    in.at[peeled_bucket].blocks = 0;
    for (std::size_t row = 0; row < shape.rows; ++row) {
      if (row == own_row) continue;
      const std::size_t bucket = bucket_of(row, x);
      const bool turns = hashes.rows[row].is_negative(x) != hashes.rows[own_row].is_negative(x);
      for (std::size_t lane = 0; lane < shape.block; ++lane) {
        const Cell value = load<Cell>(table, peeled_bucket * shape.block + lane);
        const Cell cell = load<Cell>(table, bucket * shape.block + lane);
        store<Cell>(table, bucket * shape.block + lane, turns ? cell + value : cell - value);
      }
      in.at[bucket].number ^= b;
      if (--in.at[bucket].blocks == 1) in.queue[end++] = static_cast<std::uint32_t>(bucket);
    }
    return end;
  }
};

/// Writes the value of a peeled bucket to its block.
template <class T, class Cell>
struct PutPeeled {
  SketchShape shape;
  RowHashes hashes;
  Buckets in;
  Scale scale;
  BlockMap map;
  const std::byte* table;
  std::byte* out;
  const Peeled* peeled;

  KOKKOS_FUNCTION void operator()(std::size_t entry) const {
    if (entry >= peeled->blocks) return;
    const std::size_t bucket = in.queue[entry], b = in.at[bucket].number;
    const RowHash& hash = hashes.rows[bucket / shape.buckets];
    const bool is_negative = hash.is_negative(mixed(static_cast<std::uint32_t>(b)));
    const std::size_t begin = map.grid.begin(b), length = map.grid.size(b);
    for (std::size_t lane = 0; lane < length; ++lane) {
      const Cell cell = load<Cell>(table, bucket * shape.block + lane);
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
    const std::size_t bytes = (map.blocks + 7) / 8;
    for (std::size_t i = 8 * w; i < 8 * (w + 1) && i < bytes; ++i) {
      left[i] = static_cast<std::byte>(word >> 8 * (i % 8));
    }
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
    const Buckets in(with.room, shape);
    const RowHashes hashes(shape.seed);
    Space::for_each(map.words, ClearOthers<T>{map, with.left, out.data});
    Space::for_teams(1, 0, PeelKernel<Cell>{shape, hashes, in, map, with.left, table.data, peeled});
    Space::for_each(shape.rows * shape.buckets,
                    PutPeeled<T, Cell>{shape, hashes, in, with.scale, map, table.data, out.data, peeled});
  });
}

}  // namespace lacuna::kernels
