#pragma once

#include <Kokkos_Macros.hpp>
#include <cstddef>
#include <cstdint>

#include "kernels/elements.hpp"
#include "kernels/hashes.hpp"
#include "kernels/sketches.hpp"
#include "kernels/space.hpp"

namespace lacuna::kernels {

/// What is known of a bucket.
struct Bucket {
  std::uint32_t blocks;  ///< how many blocks lie there that have not been peeled
  std::uint32_t number;  ///< the sum of their numbers; of a bucket that has told its block, that of the block
};

/// The parts of the room that a table is peeled in (words_of_peeling()). Each has a place for each bucket of each row.
struct PeelingRoom {
  Bucket* at;
  std::uint32_t* queue;  ///< buckets that hold one block, in the order in which they came to that
  std::uint32_t* homes;  ///< buckets that have told their blocks, in the order in which the blocks are peeled
  std::uint32_t *places, *events, *links;  ///< for several threads (kernels/peel_together.hpp)

  PeelingRoom(std::uint32_t* room, std::size_t buckets)
      : at(reinterpret_cast<Bucket*>(room)),
        queue(room + 2 * buckets),
        homes(Space::team_threads == 1 ? queue : queue + buckets),  // one thread has read what it overwrites
        places(queue + 2 * buckets),
        events(queue + 3 * buckets),
        links(queue + 4 * buckets) {}
};

/// A sketch that is being peeled.
template <class Cell>
struct PeelTable {
  SketchShape shape;
  RowHashes hashes;
  PeelingRoom in;
  std::byte* cells;

  KOKKOS_INLINE_FUNCTION std::size_t buckets() const { return shape.rows * shape.buckets; }

  /// The bucket of a block whose mixed number is `x`.
  KOKKOS_INLINE_FUNCTION std::size_t bucket_of(std::size_t row, std::uint32_t x) const {
    return row * shape.buckets + hashes.rows[row].bucket(x, shape.buckets);
  }

  /// A cell that once held an infinity or a NaN tells nothing of its other blocks.
  KOKKOS_INLINE_FUNCTION bool is_finite(std::size_t bucket) const {
    if constexpr (!is_integer_element<Cell>) {
      for (std::size_t lane = 0; lane < shape.block; ++lane) {
        const Cell cell = load<Cell>(cells, bucket * shape.block + lane);
        if (!(cell - cell == Cell{})) return false;
      }
    }
    return true;
  }

  /// Takes the value of a block out of a bucket of this row. `home` is the bucket that has told it.
  KOKKOS_INLINE_FUNCTION void take_out(std::size_t home, std::size_t row, std::size_t bucket, std::size_t lane) const {
    const std::uint32_t x = mixed(in.at[home].number);
    const bool turns = hashes.rows[row].is_negative(x) != hashes.rows[home / shape.buckets].is_negative(x);
    const Cell value = load<Cell>(cells, home * shape.block + lane);
    const Cell cell = load<Cell>(cells, bucket * shape.block + lane);
    store<Cell>(cells, bucket * shape.block + lane, turns ? cell + value : cell - value);
  }
};

}  // namespace lacuna::kernels
