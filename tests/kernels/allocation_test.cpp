#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/backend.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/selection.hpp"
#include "tests/support/replaced_new.hpp"
#include "transports/inproc.hpp"

namespace lacuna::test {
namespace {

thread_local std::size_t allocations = 0;

template <class Run>
std::size_t allocations_of(const Run& run) {
  const std::size_t before = allocations;
  run();
  return allocations - before;
}

TEST(Allocations, OfTheLibraryAreCounted) {
  EXPECT_NE(allocations_of([] { make_inproc(1, {}); }), 0u);
}

TEST(Allocations, SelectionMakesNone) {
  const kernels::Backend& on = tested();  // to load its library takes memory
  for (Dtype dtype : float_dtypes) {
    const std::size_t count = (std::size_t{4} << 20) / size_of(dtype), k = count / 100;
    Block block = block_of(dtype, drawn(draw_normal, dtype, count), 0), room(4096 * size_of(dtype), 0);
    Block values(2 * k * size_of(dtype), 0), rest(count * size_of(dtype), 0);
    std::vector<std::uint32_t> places(2 * k);
    std::vector<std::uint64_t> workspace(kernels::Backend::workspace_bytes() / 8);
    auto* const scratch = reinterpret_cast<std::byte*>(workspace.data());
    const kernels::Source from{dtype, block.data(), count};
    const kernels::EntriesList list{places.data(), values.data(), places.size()};
    kernels::Cut cut;
    std::uint64_t taken = 0;
    double sum = 0;
    kernels::Comparison sums;
    EXPECT_EQ(allocations_of([&] {
                on.largest(from, k, scratch, &cut);
                on.estimate(from, k, 4096, {}, room.data(), scratch, &cut);
                on.count(from, &cut, &taken);
                taken = 0;
                on.compact(from, &cut, list, &taken);
                on.sum_of_powers(from, 2, 1, &sum);
                on.compare(from, block.data(), &sums);
                on.sample_magnitudes(from, count / places.size(), places);
                on.count_magnitudes(from, 1000, places.data());
                on.feed_back({}, {dtype, rest.data(), count}, nullptr, block.data());
              }),
              0u)
        << to_string(dtype);
  }
}

TEST(Allocations, SketchesMakeNone) {
  const kernels::Backend& on = tested();  // to load its library takes memory
  constexpr std::size_t count = 300'000;
  const kernels::SketchShape shape{.rows = 3, .buckets = count / 2};
  Block values = block_of(Dtype::F32, drawn(draw_normal, Dtype::F32, count), 0), out(count * 4, 0);
  Block table(8 * shape.cells(), 0), map((count + 7) / 8, 0), left((count + 7) / 8, 0);
  std::vector<std::uint32_t> room(kernels::words_of_peeling(shape));
  kernels::Peeled peeled;
  EXPECT_EQ(
      allocations_of([&] {
        on.find_blocks({Dtype::F32, values.data(), count}, {count, 1}, nullptr, map.data());
        on.sketch(shape, {Dtype::F32, values.data(), count}, map.data(), {Dtype::F32, table.data(), shape.cells()});
        on.decode_sketch(shape, {.map = map.data(), .table = table.data()}, {Dtype::F32, out.data(), count});
        on.sketch(shape, {Dtype::F32, values.data(), count}, map.data(), {Dtype::F64, table.data(), shape.cells()});
        on.peel_sketch(shape, {.map = map.data(), .left = left.data(), .room = room.data()},
                       {Dtype::F64, table.data(), shape.cells()}, {Dtype::F32, out.data(), count}, &peeled);
      }),
      0u);
  EXPECT_GT(peeled.blocks, 0u);
}

TEST(Allocations, SortingMakesNone) {
  const kernels::Backend& on = tested();  // to load its library takes memory
  for (Dtype dtype : float_dtypes) {
    constexpr std::size_t count = 300'000;
    std::vector<std::uint32_t> places(count), sorted_places(count), spare_places(count);
    for (std::size_t i = 0; i < count; ++i) places[i] = static_cast<std::uint32_t>(count - i);
    Block values(count * size_of(dtype), 0), sorted(count * size_of(dtype), 0), spare(count * size_of(dtype), 0);
    std::vector<std::uint64_t> workspace(kernels::Backend::workspace_bytes() / 8);
    const kernels::EntriesView view{
        .entries = count, .places = reinterpret_cast<const std::byte*>(places.data()), .values = values.data()};
    std::uint64_t taken = 0, sound = 0;
    EXPECT_EQ(allocations_of([&] {
                on.sort(dtype, view, count + 1, {sorted_places.data(), sorted.data(), count},
                        {spare_places.data(), spare.data(), count}, reinterpret_cast<std::byte*>(workspace.data()),
                        &taken, &sound);
              }),
              0u)
        << to_string(dtype);
    EXPECT_EQ(taken, count);
  }
}

TEST(Allocations, KernelsOfListsMakeNone) {
  const kernels::Backend& on = tested();  // to load its library takes memory
  for (Dtype dtype : float_dtypes) {
    const std::vector<std::uint32_t> places = {1, 5, 70, 99};
    Block to = block_of(dtype, drawn(draw_normal, dtype, 100), 0), values(4 * size_of(dtype), 0), kept(32, 0);
    std::vector<std::uint32_t> kept_places(4);
    std::vector<std::int64_t> bins(10), skews(10);
    kernels::Between between;
    kernels::Beyond beyond;
    const kernels::EntriesView view{
        .entries = 4, .places = reinterpret_cast<const std::byte*>(places.data()), .values = values.data()};
    const kernels::Cut cut;
    std::uint64_t taken = 0;
    EXPECT_EQ(allocations_of([&] {
                on.histogram(places, 100, bins, skews);
                on.find_range(places, 1, 71, &between);
                on.sample_places(places, {1, 71, 2, 1, 2}, kept_places.data());
                on.find_common(places, places, kept_places.data(), &taken);
                on.find_beyond(places, 70, &beyond);
                on.gather(places, {dtype, to.data(), 100}, values.data());
                on.add_at(places, values.data(), {dtype, to.data(), 100});
                on.clear_at(places, {dtype, to.data(), 100});
                on.keep(view, &cut, {kept_places.data(), kept.data(), 4}, {dtype, to.data(), 100}, &taken);
              }),
              0u)
        << to_string(dtype);
  }
}

TEST(Allocations, KernelsOfMessagesMakeNone) {
  const kernels::Backend& on = tested();  // to load its library takes memory
  constexpr std::uint32_t length = 5000, entries = 4;
  const std::vector<std::uint32_t> places = {1, 5, 700, 4999};
  std::vector<std::byte> map(length / 8 + 8);
  std::vector<std::uint32_t> unpacked(entries), before(kernels::blocks_of(length) + 1), sum_places(entries);
  const std::uint32_t* const table = before.data();
  for (Dtype dtype : float_dtypes) {
    Block values = block_of(dtype, drawn(draw_normal, dtype, entries), 0);
    Block out(length * size_of(dtype), 0), sum_values(entries * size_of(dtype), 0),
        room((kernels::Backend::merge_places + 8) * size_of(dtype), 0);
    const kernels::EntriesView view{
        .entries = entries, .places = reinterpret_cast<const std::byte*>(places.data()), .values = values.data()};
    for (kernels::Format format : kernels::all_formats) {
      Block message(kernels::message_bytes(format, dtype, entries, length), 0);
      kernels::EntriesHeader header;
      std::uint64_t sound = 0, taken = 0, bits = 0;
      EXPECT_EQ(allocations_of([&] {
                  on.pack_bits(places, 0, length, map.data());
                  on.unpack_bits(map.data(), length, unpacked.data(), &bits);
                  on.count_bits(map.data(), length, before.data());
                  on.encode({entries, length, 0, format, dtype}, view, message.data());
                  on.read_header(message.data(), &header);
                  on.index(view, length, before.data(), &sound);
                  on.sum({&view, 1}, &table, {}, {dtype, out.data(), length}, &taken);
                  taken = 0;
                  on.merge({&view, 1}, &table, {}, length, {dtype, room.data(), kernels::Backend::merge_places},
                           {sum_places.data(), sum_values.data(), entries}, &taken);
                }),
                0u)
          << to_string(dtype);
      EXPECT_EQ(sound, 1u);
      EXPECT_EQ(taken, entries);
    }
  }
}

}  // namespace

bool may_allocate(std::size_t) noexcept {
  ++allocations;
  return true;
}

}  // namespace lacuna::test
