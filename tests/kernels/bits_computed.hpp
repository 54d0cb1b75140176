#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/backends.hpp"
#include "tests/kernels/block.hpp"
#include "tests/kernels/selection.hpp"
#include "tests/support/messages.hpp"

/// What kernels compute from arrays of all kinds, as bits that can be compared.
namespace lacuna::kernels {

using test::Block;
using test::block_of;
using test::draw_bits;
using test::drawn;
using test::Elements;
using test::elements_of;

/// What kernels have computed, as bits, with a name for each step.
using Results = std::vector<std::pair<std::string, Elements>>;

/// Makes arrays of one kind of numbers that kernels treat in a special way, at odd addresses.
struct Given {
  Dtype dtype;
  std::size_t count;
  test::Draw draw;

  Elements elements(std::size_t seed) const {
    test::Random random(count + 7919 * seed);
    Elements drawn(count);
    for (std::size_t i = 0; i < count; ++i) drawn[i] = draw(dtype, i, count, random);
    return drawn;
  }
  Block block(std::size_t seed) const { return block_of(dtype, elements(seed), 1 + seed); }
};

/// The bits of an array's elements, in which all NaNs are the same.
inline Elements comparable(Dtype dtype, const std::byte* array, std::size_t count) {
  Elements elements = elements_of(dtype, array, count);
  if (is_integer(dtype)) return elements;
  for (std::uint64_t& bits : elements) {
    if (std::isnan(oracle::decode(dtype, bits))) bits = ~std::uint64_t{0};
  }
  return elements;
}

inline void reduce_all(const Backend& on, const Given& given, Results& results) {
  Block a = given.block(0), b = given.block(1), out(given.count * size_of(given.dtype), 3);
  const auto add = [&](std::string_view name) {
    results.emplace_back(name, comparable(given.dtype, out.data(), given.count));
  };
  for (Reduction reduction : all_reductions) {
    for (const SumScale& scale :
         {SumScale{}, SumScale{.sum = {.multiplier = 5, .divisor = 3}}, SumScale{.first = 0.25, .second = 0.125},
          SumScale{.first = 0.25, .second = 0.25, .sum = {.divisor = 0.75}}}) {
      on.reduce(reduction, scale, {given.dtype, out.data(), given.count}, a.data(), b.data());
      add(to_string(reduction));
    }
  }
  on.copy({.divisor = 7}, {given.dtype, out.data(), given.count}, a.data());
  add("copy");
}

/// Reduces complex and located elements whose parts are the given numbers.
inline void reduce_compounds(const Backend& on, const Given& given, Results& results) {
  const auto reduce = [&](Dtype dtype, Reduction reduction, Block a, Block b, std::size_t count) {
    Block out(count * size_of(dtype), 3);
    on.reduce(reduction, {}, {dtype, out.data(), count}, a.data(), b.data());
    return out;
  };
  const bool is_long = size_of(given.dtype) == 8;
  if (!is_integer(given.dtype)) {
    for (Reduction reduction : {Reduction::Sum, Reduction::Prod}) {
      const std::size_t pairs = given.count / 2;
      Block out = reduce(is_long ? Dtype::C128 : Dtype::C64, reduction, given.block(0), given.block(1), pairs);
      results.emplace_back("complex", comparable(given.dtype, out.data(), 2 * pairs));
    }
  }
  const Dtype located = is_integer(given.dtype) ? (is_long ? Dtype::LocatedI64 : Dtype::LocatedI32)
                                                : (is_long ? Dtype::LocatedF64 : Dtype::LocatedF32);
  const auto with_indexes = [&](std::size_t seed) {  // rubbish between a short number and its index
    Elements words;
    for (std::uint64_t bits : given.elements(seed)) {
      words.push_back(is_long ? bits : bits | 0xdeadbeef00000000u);
      words.push_back(seed == 0 ? 5 : words.size() % 8);
    }
    return block_of(Dtype::I64, words, 1 + seed);
  };
  for (Reduction reduction : {Reduction::Min, Reduction::Max}) {
    Block out = reduce(located, reduction, with_indexes(0), with_indexes(1), given.count);
    results.emplace_back("located", elements_of(Dtype::I64, out.data(), 2 * given.count));
  }
}

inline void feed_back_all(const Backend& on, const Given& given, Results& results) {
  for (bool has_velocity : {false, true}) {
    Block residual = given.block(0), velocity = given.block(1), input = given.block(2);
    on.feed_back({.factor = 0.3, .momentum = 0.9}, {given.dtype, residual.data(), given.count},
                 has_velocity ? velocity.data() : nullptr, input.data());
    results.emplace_back("residual", comparable(given.dtype, residual.data(), given.count));
    results.emplace_back("velocity", comparable(given.dtype, velocity.data(), given.count));
  }
  Block from = given.block(0);
  for (int power : {1, 2}) {
    double sum = 0;
    on.sum_of_powers({given.dtype, from.data(), given.count}, power, 0.7, &sum);
    results.emplace_back("sum of powers", comparable(Dtype::F64, reinterpret_cast<const std::byte*>(&sum), 1));
  }
}

inline void select_all(const Backend& on, const Given& given, Results& results) {
  Block from = given.block(0), workspace(Backend::workspace_bytes(), 0), values(given.count * size_of(given.dtype), 1);
  Block samples(4096 * size_of(given.dtype), 0), rest = given.block(1);
  const Source source{given.dtype, from.data(), given.count};
  std::vector<std::uint32_t> places(given.count);
  Cut cut, estimated;
  on.largest(source, given.count / 10, workspace.data(), &cut);
  on.estimate(source, given.count / 10, 4096, {.seed = 3}, samples.data(), workspace.data(), &estimated);
  std::uint64_t counted = 0, taken = 0, kept = 0;
  on.count(source, &estimated, &counted);
  on.compact(source, &cut, {places.data(), values.data(), given.count, 5}, &taken);
  const Elements list = comparable(given.dtype, values.data(), taken);
  const EntriesView view{Format::Coordinates, static_cast<std::uint32_t>(taken), 5,
                         reinterpret_cast<const std::byte*>(places.data()), values.data()};
  std::vector<std::uint32_t> kept_places(taken);
  Block kept_values(taken * size_of(given.dtype), 3);
  const Cut higher{.above = cut.above + cut.above / 100, .ties = 1};
  on.keep(view, &higher, {kept_places.data(), kept_values.data(), taken / 2, 0},
          {given.dtype, rest.data(), given.count}, &kept);
  results.emplace_back("cuts", Elements{cut.above, cut.ties, estimated.above, estimated.ties, counted, taken, kept});
  results.emplace_back("places", Elements(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(taken)));
  results.emplace_back("values", list);
  results.emplace_back("kept places", Elements(kept_places.begin(), kept_places.end()));
  results.emplace_back("rest", comparable(given.dtype, rest.data(), given.count));
}

inline void place_all(const Backend& on, const Given& given, Results& results) {
  test::Random random(given.count);
  std::vector<std::uint32_t> places;
  for (std::size_t i = random() % 3; i < given.count; i += 1 + random() % 3) {
    places.push_back(static_cast<std::uint32_t>(i));
  }
  Block to = given.block(0), values = given.block(1), gathered(places.size() * size_of(given.dtype), 1);
  std::vector<std::int64_t> bins(64), skews(64);
  on.histogram(places, given.count, bins, skews);
  on.gather(places, {given.dtype, values.data(), given.count}, gathered.data());
  on.add_at(places, gathered.data(), {given.dtype, to.data(), given.count});
  results.emplace_back("histogram", Elements(bins.begin(), bins.end()));
  results.emplace_back("skews", Elements(skews.begin(), skews.end()));
  results.emplace_back("add_at", comparable(given.dtype, to.data(), given.count));
  std::vector<std::uint32_t> shuffled = places, sorted(places.size()), spare(places.size());
  for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[random() % i]);
  for (std::size_t i = 1; i < shuffled.size(); i += 5) shuffled[i] = shuffled[i - 1];
  Block sorted_values(gathered), spare_values(gathered), workspace(Backend::workspace_bytes(), 0);
  std::uint64_t taken = 0, sound = 0;
  on.sort(given.dtype,
          {Format::Coordinates, static_cast<std::uint32_t>(shuffled.size()), 0,
           reinterpret_cast<const std::byte*>(shuffled.data()), gathered.data()},
          given.count, {sorted.data(), sorted_values.data(), sorted.size()},
          {spare.data(), spare_values.data(), spare.size()}, workspace.data(), &taken, &sound);
  results.emplace_back("sorted", Elements(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(taken)));
  results.emplace_back("sorted values", comparable(given.dtype, sorted_values.data(), taken));
}

/// Looks things up in arrays and lists, and adds them to the results.
inline void look_up_all(const Backend& on, const Given& given, Results& results) {
  Block a = given.block(0), b = given.block(1);
  const Source source{given.dtype, a.data(), given.count};
  std::vector<std::uint32_t> bins(Backend::magnitude_bins), magnitudes((given.count + 2) / 3);
  on.count_magnitudes(source, given.count / 2 + 1, bins.data());
  on.sample_magnitudes(source, 3, magnitudes);
  Comparison sums;
  on.compare(source, b.data(), &sums);
  test::Random random(given.count);
  std::vector<std::uint32_t> places, others;
  for (std::uint32_t i = 0; i < given.count; ++i) {
    if (random() % 3 != 0) places.push_back(i);
    if (random() % 2 != 0) others.push_back(i);
  }
  std::vector<std::uint32_t> samples(10), common(places.size());
  Between between;
  Beyond beyond;
  std::uint64_t count = 0;
  on.find_range(places, given.count / 3, given.count / 2, &between);
  on.sample_places(places, {given.count / 4, given.count, 9, 3, 8}, samples.data());
  on.find_common(places, others, common.data(), &count);
  on.find_beyond(places, given.count / 2, &beyond);
  on.clear({given.dtype, a.data(), given.count});
  results.emplace_back("bins", Elements(bins.begin(), bins.end()));
  results.emplace_back("magnitudes", Elements(magnitudes.begin(), magnitudes.end()));
  results.emplace_back("comparison", comparable(Dtype::F64, reinterpret_cast<const std::byte*>(&sums), 4));
  results.emplace_back("range", Elements{between.first, between.last});
  results.emplace_back("samples", Elements(samples.begin(), samples.end()));
  results.emplace_back("common", Elements(common.begin(), common.begin() + static_cast<std::ptrdiff_t>(count)));
  results.emplace_back("beyond", Elements{beyond.count, beyond.entry, beyond.place});
  results.emplace_back("cleared", comparable(given.dtype, a.data(), given.count));
}

/// Converts an array to all types, and adds it up again.
inline void convert_all(const Backend& on, const Given& given, Results& results) {
  for (Dtype to : test::float_dtypes) {
    Block from = given.block(0), out(given.count * size_of(to), 3);
    const Target target{to, out.data(), given.count};
    on.convert({given.dtype, from.data(), given.count}, target, from.data());
    results.emplace_back("converted", comparable(to, out.data(), given.count));
    results.emplace_back("rest", comparable(given.dtype, from.data(), given.count));
    if (size_of(given.dtype) >= size_of(to)) continue;
    for (Reduction reduction : all_reductions) {
      on.accumulate(reduction, {.second = 0.25, .sum = {.divisor = 0.75}}, target,
                    {given.dtype, given.block(1).data(), given.count});
      results.emplace_back(to_string(reduction), comparable(to, out.data(), given.count));
    }
  }
}

/// Writes messages of levels, and reads them.
inline void level_all(const Backend& on, const Given& given, Results& results) {
  for (const LevelsShape& shape : {LevelsShape{8, 64}, LevelsShape{4, 12}}) {
    Block from = given.block(0), message(shape.message_bytes(given.count), 1), to = given.block(1);
    on.encode_levels(shape, {.key = 3, .draw = 9}, {given.dtype, from.data(), given.count}, message.data(),
                     from.data());
    results.emplace_back("message", elements_of(Dtype::U8, message.data(), shape.message_bytes(given.count)));
    results.emplace_back("rest", comparable(given.dtype, from.data(), given.count));
    for (bool adds : {true, false}) {
      on.decode_levels(shape, message.data(), 1, {given.dtype, to.data(), given.count}, adds);
      results.emplace_back("decoded", comparable(given.dtype, to.data(), given.count));
    }
  }
}

/// Approximates a matrix by factors.
inline void factor_all(const Backend& on, const Given& given, Results& results) {
  for (const MatrixShape& shape : {MatrixShape{given.count, 1 + given.count / 9, 4}, MatrixShape{given.count, 5, 2}}) {
    const std::size_t lefts = shape.rank * shape.rows(), rights = shape.rank * shape.columns;
    Block matrix = given.block(0), left(lefts * size_of(given.dtype), 1), right(rights * size_of(given.dtype), 3);
    const Source source{given.dtype, matrix.data(), given.count};
    std::vector<double> sums(3);
    on.clear({given.dtype, right.data(), rights});
    on.draw_missing(shape.rank, {.key = 7, .draw = 2}, 0x1p-4, {given.dtype, right.data(), rights}, sums.data());
    results.emplace_back("drawn", comparable(given.dtype, right.data(), rights));
    on.multiply_by_right(shape, source, right.data(), left.data());
    results.emplace_back("left", comparable(given.dtype, left.data(), lefts));
    on.orthonormalize(shape.rank, {given.dtype, left.data(), lefts}, sums.data());
    results.emplace_back("orthonormal", comparable(given.dtype, left.data(), lefts));
    on.multiply_by_left(shape, source, left.data(), right.data());
    results.emplace_back("right", comparable(given.dtype, right.data(), rights));
    for (ProductUse does : {ProductUse::Subtracts, ProductUse::Replaces}) {
      on.multiply_factors({shape, left.data(), right.data(), 4}, does, {given.dtype, matrix.data(), given.count});
      results.emplace_back("product", comparable(given.dtype, matrix.data(), given.count));
    }
  }
}

/// Sketches an array, decodes and peels the sketch, and adds what comes out to the results.
inline void sketch_all(const Backend& on, const Given& given, Results& results) {
  const Dtype cells = is_integer(given.dtype) ? Dtype::I64 : given.dtype == Dtype::F64 ? Dtype::F64 : Dtype::F32;
  const Dtype long_cells = is_integer(given.dtype) ? Dtype::I64 : Dtype::F64;
  for (std::size_t block : {1u, 6u}) {
    const std::size_t blocks = (given.count + block - 1) / block;
    const SketchShape shape{.seed = given.count, .rows = 3, .buckets = blocks / 2 + 1, .block = block};
    Block from = given.block(0), out(given.count * size_of(given.dtype), 3), residual = given.block(1);
    Block table(8 * shape.cells(), 1), map((blocks + 7) / 8, 1), left((blocks + 7) / 8, 2);
    for (std::size_t i = 0; i < (blocks + 7) / 8; ++i) map.data()[i] = static_cast<std::byte>(0xb7 + 5 * i);
    const Source source{given.dtype, from.data(), given.count};
    const Target target{given.dtype, out.data(), given.count};
    on.sketch(shape, source, map.data(), {cells, table.data(), shape.cells()});
    results.emplace_back("table", comparable(cells, table.data(), shape.cells()));
    if (!is_integer(given.dtype)) {
      on.decode_sketch(shape,
                       {.map = map.data(),
                        .table = table.data(),
                        .estimate = block == 1 ? Estimate::Median : Estimate::Mean,
                        .scale = {.multiplier = 0.5, .divisor = 3},
                        .own_table = table.data(),
                        .residual = residual.data(),
                        .contributed = 0.3},
                       target);
      results.emplace_back("decoded", comparable(given.dtype, out.data(), given.count));
      results.emplace_back("kept", comparable(given.dtype, residual.data(), given.count));
    }
    std::vector<std::uint32_t> room(words_of_peeling(shape));
    Peeled peeled;
    on.sketch(shape, source, map.data(), {long_cells, table.data(), shape.cells()});
    on.peel_sketch(shape, {map.data(), left.data(), room.data(), {.divisor = 3}},
                   {long_cells, table.data(), shape.cells()}, target, &peeled);
    results.emplace_back("peeled", comparable(given.dtype, out.data(), given.count));
    results.emplace_back("left", elements_of(Dtype::U8, left.data(), (blocks + 7) / 8));
    results.emplace_back("rounds", Elements{peeled.blocks, peeled.rounds});
  }
}

/// Finds, packs, reduces and unpacks the blocks of two arrays of which some are zero.
inline void block_all(const Backend& on, const Given& given, Results& results) {
  for (const BlockGrid& grid : {BlockGrid{given.count, 3}, BlockGrid{given.count, 100, 1, 2, true}}) {
    const std::size_t count = grid.count(), bytes = given.count * size_of(given.dtype);
    std::vector<Block> arrays = {given.block(0), given.block(1)}, packed(2, Block(bytes, 1));
    std::vector<std::vector<std::byte>> maps(3, std::vector<std::byte>((count + 7) / 8));
    std::vector<std::vector<std::uint32_t>> ranks(3, std::vector<std::uint32_t>(words_of_map(count) + 1));
    std::vector<BlockSource> sources;
    for (std::size_t v = 0; v < 2; ++v) {
      for (std::size_t b = v; b < count; b += 3) {
        on.clear({given.dtype, arrays[v].data() + grid.begin(b) * size_of(given.dtype), grid.size(b)});
      }
      on.find_blocks({given.dtype, arrays[v].data(), given.count}, grid, nullptr, maps[v].data());
      on.rank_bits(maps[v].data(), count, ranks[v].data());
      on.unite_bits(maps[2].data(), maps[v].data(), count);
      on.take_blocks({given.dtype, arrays[v].data(), given.count}, grid, {maps[v].data(), ranks[v].data()},
                     packed[v].data());
      sources.push_back({{maps[v].data(), ranks[v].data()}, packed[v].data()});
    }
    on.rank_bits(maps[2].data(), count, ranks[2].data());
    const BlockSet all{maps[2].data(), ranks[2].data()};
    for (Reduction reduction : all_reductions) {
      on.reduce_blocks(sources, {reduction, {.divisor = 3}, given.dtype, grid, all, packed[1].data()});
      on.put_blocks(packed[1].data(), grid, all, true, {given.dtype, arrays[0].data(), given.count});
      results.emplace_back(to_string(reduction), comparable(given.dtype, arrays[0].data(), given.count));
      on.take_blocks({given.dtype, arrays[1].data(), given.count}, grid, {maps[1].data(), ranks[1].data()},
                     packed[1].data());
    }
    const std::vector<std::uint32_t> begins = {0, 3, 4}, order = {2, 0, 1, 3};
    const std::size_t length = given.count / 4;
    on.sum_rows(given.dtype, arrays[0].data(), length, 2, begins.data(), order.data(), packed[0].data());
    results.emplace_back("rows", comparable(given.dtype, packed[0].data(), 2 * length));
    on.clear_blocks(grid, all, {given.dtype, arrays[1].data(), given.count});
    results.emplace_back("cleared", comparable(given.dtype, arrays[1].data(), given.count));
    results.emplace_back("map", elements_of(Dtype::U8, maps[2].data(), maps[2].size()));
    results.emplace_back("ranks", Elements(ranks[2].begin(), ranks[2].end()));
  }
}

/// Makes messages of three arrays in each format, and adds the entries of their sum to the results.
inline void add_messages(const Backend& on, const Given& given, Results& results) {
  std::vector<test::Indexed> messages;
  test::Random random(given.count);
  for (Format format : all_formats) {
    test::Sparse sparse = test::drawn_sparse(given.dtype, given.count, 0.3, random);
    for (std::uint64_t& value : sparse.values)
      value = given.draw(given.dtype, 1, 2, random) | 1;  // odd bits are not zero
    const test::Bytes message = test::encoded(on, sparse, format, 0);
    results.emplace_back("message", elements_of(Dtype::U8, message.data(), message.size()));
    EntriesHeader header;
    on.read_header(message.data(), &header);
    EXPECT_EQ(std::memcmp(&header, message.data(), sizeof(header)), 0);
    if (auto found = test::indexed(on, message, given.dtype, 0, given.count)) messages.push_back(*std::move(found));
  }
  ASSERT_EQ(messages.size(), all_formats.size());
  const Scale scale{.multiplier = 3, .divisor = 7};
  const test::Summed sum = test::summed(on, messages, scale, given.dtype, given.count);
  const test::Merged entries = test::merged(on, messages, scale, given.dtype, given.count, given.count);
  const Block sums = block_of(given.dtype, sum.elements, 0), merged = block_of(given.dtype, entries.sparse.values, 0);
  results.emplace_back("sum", comparable(given.dtype, Block(sums).data(), sum.elements.size()));
  results.emplace_back("merged", comparable(given.dtype, Block(merged).data(), entries.sparse.values.size()));
  results.emplace_back("merged places", Elements(entries.sparse.places.begin(), entries.sparse.places.end()));
  results.emplace_back("counted", Elements{sum.entries, entries.taken});
}

}  // namespace lacuna::kernels
