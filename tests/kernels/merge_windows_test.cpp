#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/bits.hpp"
#include "tests/kernels/backends.hpp"
#include "tests/kernels/block.hpp"
#include "tests/support/messages.hpp"

namespace lacuna::kernels {
namespace {

using test::Block;
using test::Indexed;
using test::Sparse;

class MergeWindows : public EachBackend {};
INSTANTIATE_TEST_SUITE_P(, MergeWindows, testing::ValuesIn(backend_names()), name_of_backend);

/// The bytes of room in which so many blocks are summed up at a time, if it begins at an address that suits a u64.
std::size_t bytes_for(std::size_t blocks, Dtype dtype) {
  return sizeof(std::uint64_t) + blocks * (sizeof(std::uint64_t) + block_bytes + block_places * size_of(dtype));
}

/// The sum of some messages, made in a room of so many elements. The room begins `offset` bytes behind an address that
/// suits a u64.
struct InRoom {
  InRoom(const Backend& on, const std::vector<Indexed>& from, Dtype dtype, std::size_t length, std::size_t elements,
         std::size_t offset) {
    std::vector<EntriesView> views;
    std::vector<const std::uint32_t*> before;
    for (const Indexed& one : from) views.push_back(one.view), before.push_back(one.before.data());
    Block room(elements * size_of(dtype), offset), values(length * size_of(dtype), 0);
    places.resize(length);
    on.merge(views, before.data(), {}, length, {dtype, room.data(), elements}, {places.data(), values.data(), length},
             &taken);
    places.resize(std::min<std::size_t>(length, taken));
    elements_of_sum = test::elements_of(dtype, values.data(), places.size());
    guards_hold = room.guards_hold() && values.guards_hold();
  }

  std::vector<std::uint32_t> places;
  std::vector<std::uint64_t> elements_of_sum;
  std::uint64_t taken = 0;
  bool guards_hold = false;
};

TEST_P(MergeWindows, ASumIsTheSameInWhateverRoomItIsMade) {
  for (Dtype dtype : test::float_dtypes) {
    const std::size_t width = size_of(dtype), length = 7 * block_places + 123;
    std::mt19937_64 random(length);
    std::vector<Indexed> messages;
    std::vector<Sparse> arrays;
    for (int i = 0; i < 3; ++i) {
      // One array has all elements, so that the last place of a window is written to.
      arrays.push_back(test::drawn_sparse(dtype, length, i == 1 ? 1 : 0.01, random));
      const auto format = i == 0 ? Format::Coordinates : i == 1 ? Format::Bitmap : Format::Local16;
      messages.push_back(*test::indexed(backend(), test::written(arrays.back(), format, 0), dtype, 0, length));
    }
    const test::Merged whole = test::merged(backend(), messages, {}, dtype, length, length);
    for (const std::size_t blocks : {1u, 2u, 3u, 7u, 8u, 9u}) {
      for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{7}}) {
        // The room is just enough for these blocks behind the next address that suits a u64, or one element smaller.
        const std::size_t unaligned = (8 - offset % 8) % 8;
        const std::size_t enough = (bytes_for(blocks, dtype) + unaligned + width - 1) / width;
        for (const std::size_t elements : {enough, enough - (blocks > 1)}) {
          const InRoom sum(backend(), messages, dtype, length, elements, offset);
          EXPECT_TRUE(sum.guards_hold) << blocks << " blocks at " << offset;
          ASSERT_EQ(sum.taken, whole.taken) << blocks << " blocks at " << offset;
          ASSERT_EQ(sum.places, whole.sparse.places) << blocks << " blocks at " << offset;
          ASSERT_EQ(sum.elements_of_sum, whole.sparse.values) << blocks << " blocks at " << offset;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lacuna::kernels
