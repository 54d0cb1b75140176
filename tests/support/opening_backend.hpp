#pragma once

#include <functional>
#include <utility>

#include "kernels/backend.hpp"

namespace lacuna::test {

/// What may be touched now. A kernel's own code may touch the control tables, most functions of a backend the data, and
/// some functions both.
enum class Sees { Tables, Data, All };

/// Computes by another backend. Before a function it calls show() with what the function may touch, and after it
/// show(Sees::Tables).
class OpeningBackend final : public kernels::Backend {
 public:
  OpeningBackend(const Backend& real, std::function<void(Sees)> show) : real_(real), show_(std::move(show)) {}

  std::string_view name() const override { return real_.name(); }
  std::size_t elements_in_cache() const override { return real_.elements_in_cache(); }
  void reduce(Reduction reduction, Scale scale, kernels::Target out, const std::byte* a,
              const std::byte* b) const override {
    show_data([&] { real_.reduce(reduction, scale, out, a, b); });
  }
  void copy(Scale scale, kernels::Target out, const std::byte* in) const override {
    show_data([&] { real_.copy(scale, out, in); });
  }
  void clear(kernels::Target out) const override {
    show_data([&] { real_.clear(out); });
  }
  void sum_of_powers(kernels::Source from, int power, double scale, double* sum) const override {
    show_data([&] { real_.sum_of_powers(from, power, scale, sum); });
  }
  void feed_back(const kernels::FeedBack& by, kernels::Target residual, std::byte* velocity,
                 const std::byte* input) const override {
    show_data([&] { real_.feed_back(by, residual, velocity, input); });
  }
  void convert(kernels::Source from, kernels::Target to, std::byte* rest) const override {
    show_data([&] { real_.convert(from, to, rest); });
  }
  void accumulate(Reduction reduction, kernels::Target sum, kernels::Source term) const override {
    show_data([&] { real_.accumulate(reduction, sum, term); });
  }
  void compare(kernels::Source a, const std::byte* b, kernels::Comparison* sums) const override {
    show_data([&] { real_.compare(a, b, sums); });
  }
  void largest(kernels::Source from, std::uint64_t k, std::byte* workspace, kernels::Cut* cut) const override {
    show_data([&] { real_.largest(from, k, workspace, cut); });
  }
  void estimate(kernels::Source from, std::uint64_t k, std::size_t samples, const Sampler& sampler, std::byte* room,
                std::byte* workspace, kernels::Cut* cut) const override {
    show_data([&] { real_.estimate(from, k, samples, sampler, room, workspace, cut); });
  }
  void count(kernels::Source from, const kernels::Cut* cut, std::uint64_t* count) const override {
    show_data([&] { real_.count(from, cut, count); });
  }
  void compact(kernels::Source from, const kernels::Cut* cut, kernels::EntriesList to,
               std::uint64_t* taken) const override {
    show_data([&] { real_.compact(from, cut, to, taken); });
  }
  void keep(const kernels::EntriesView& entries, const kernels::Cut* cut, kernels::EntriesList kept,
            kernels::Target rest, std::uint64_t* taken) const override {
    show_data([&] { real_.keep(entries, cut, kept, rest, taken); });
  }
  void sample_magnitudes(kernels::Source from, std::size_t stride, std::span<std::uint32_t> to) const override {
    show_all([&] { real_.sample_magnitudes(from, stride, to); });
  }
  void count_magnitudes(kernels::Source from, std::size_t samples, std::uint32_t* bins) const override {
    show_all([&] { real_.count_magnitudes(from, samples, bins); });
  }
  void histogram(std::span<const std::uint32_t> places, std::size_t length, std::span<std::int64_t> bins,
                 std::span<std::int64_t> skews) const override {
    show_all([&] { real_.histogram(places, length, bins, skews); });
  }
  void find_range(std::span<const std::uint32_t> places, std::uint64_t begin, std::uint64_t end,
                  kernels::Between* found) const override {
    show_data([&] { real_.find_range(places, begin, end, found); });
  }
  void sample_places(std::span<const std::uint32_t> places, const kernels::EvenSample& of,
                     std::uint32_t* words) const override {
    show_all([&] { real_.sample_places(places, of, words); });
  }
  void find_common(std::span<const std::uint32_t> places, std::span<const std::uint32_t> others, std::uint32_t* found,
                   std::uint64_t* count) const override {
    show_data([&] { real_.find_common(places, others, found, count); });
  }
  void find_beyond(std::span<const std::uint32_t> places, std::size_t length, kernels::Beyond* found) const override {
    show_data([&] { real_.find_beyond(places, length, found); });
  }
  void clear_at(std::span<const std::uint32_t> places, kernels::Target to) const override {
    show_data([&] { real_.clear_at(places, to); });
  }
  void add_at(std::span<const std::uint32_t> places, const std::byte* values, kernels::Target to) const override {
    show_data([&] { real_.add_at(places, values, to); });
  }
  void gather(std::span<const std::uint32_t> places, kernels::Source from, std::byte* to) const override {
    show_data([&] { real_.gather(places, from, to); });
  }
  void sort(Dtype dtype, const kernels::EntriesView& list, std::size_t length, kernels::EntriesList to,
            kernels::EntriesList spare, std::byte* workspace, std::uint64_t* taken,
            std::uint64_t* sound) const override {
    show_data([&] { real_.sort(dtype, list, length, to, spare, workspace, taken, sound); });
  }
  void pack_bits(std::span<const std::uint32_t> places, std::uint32_t base, std::size_t length,
                 std::byte* map) const override {
    show_data([&] { real_.pack_bits(places, base, length, map); });
  }
  void unpack_bits(const std::byte* map, std::size_t length, std::uint32_t* places,
                   std::uint64_t* count) const override {
    show_data([&] { real_.unpack_bits(map, length, places, count); });
  }
  void count_bits(const std::byte* map, std::size_t length, std::uint32_t* before) const override {
    show_data([&] { real_.count_bits(map, length, before); });
  }
  void find_blocks(kernels::Source from, const kernels::BlockGrid& grid, const kernels::Cut* cut,
                   std::byte* map) const override {
    show_all([&] { real_.find_blocks(from, grid, cut, map); });
  }
  void rank_bits(const std::byte* map, std::size_t length, std::uint32_t* ranks) const override {
    show_all([&] { real_.rank_bits(map, length, ranks); });
  }
  void unite_bits(std::byte* map, const std::byte* other, std::size_t length) const override {
    show_all([&] { real_.unite_bits(map, other, length); });
  }
  void take_blocks(kernels::Source from, const kernels::BlockGrid& grid, const kernels::BlockSet& set,
                   std::byte* packed) const override {
    show_all([&] { real_.take_blocks(from, grid, set, packed); });
  }
  void put_blocks(const std::byte* packed, const kernels::BlockGrid& grid, const kernels::BlockSet& set, bool clears,
                  kernels::Target to) const override {
    show_all([&] { real_.put_blocks(packed, grid, set, clears, to); });
  }
  void sum_rows(Dtype dtype, const std::byte* rows, std::size_t length, std::size_t count, const std::uint32_t* begins,
                const std::uint32_t* order, std::byte* packed) const override {
    show_all([&] { real_.sum_rows(dtype, rows, length, count, begins, order, packed); });
  }
  void clear_blocks(const kernels::BlockGrid& grid, const kernels::BlockSet& set, kernels::Target to) const override {
    show_all([&] { real_.clear_blocks(grid, set, to); });
  }
  void reduce_blocks(std::span<const kernels::BlockSource> sources,
                     const kernels::ReduceBlocksCall& call) const override {
    show_all([&] { real_.reduce_blocks(sources, call); });
  }
  void copy_bytes(const std::byte* from, std::size_t bytes, std::byte* to) const override {
    show_all([&] { real_.copy_bytes(from, bytes, to); });
  }
  void encode(const kernels::EntriesHeader& header, const kernels::EntriesView& list, std::byte* to) const override {
    show_data([&] { real_.encode(header, list, to); });
  }
  void read_header(const std::byte* message, kernels::EntriesHeader* header) const override {
    show_data([&] { real_.read_header(message, header); });
  }
  void index(const kernels::EntriesView& view, std::size_t length, std::uint32_t* before,
             std::uint64_t* sound) const override {
    show_data([&] { real_.index(view, length, before, sound); });
  }
  void sum(std::span<const kernels::EntriesView> views, const std::uint32_t* const* before, Scale scale,
           kernels::Target out, std::uint64_t* entries) const override {
    show_all([&] { real_.sum(views, before, scale, out, entries); });
  }
  void merge(std::span<const kernels::EntriesView> views, const std::uint32_t* const* before, Scale scale,
             std::size_t length, kernels::Target room, kernels::EntriesList to, std::uint64_t* taken) const override {
    show_all([&] { real_.merge(views, before, scale, length, room, to, taken); });
  }

  void encode_levels(const kernels::LevelsShape& shape, const kernels::RandomStream& random, kernels::Source from,
                     std::byte* message, std::byte* rest) const override {
    show_data([&] { real_.encode_levels(shape, random, from, message, rest); });
  }
  void decode_levels(const kernels::LevelsShape& shape, const std::byte* message, kernels::Target to,
                     bool adds) const override {
    show_data([&] { real_.decode_levels(shape, message, to, adds); });
  }
  void multiply_by_right(const kernels::MatrixShape& shape, kernels::Source matrix, const std::byte* right,
                         std::byte* left) const override {
    show_data([&] { real_.multiply_by_right(shape, matrix, right, left); });
  }
  void multiply_by_left(const kernels::MatrixShape& shape, kernels::Source matrix, const std::byte* left,
                        std::byte* right) const override {
    show_data([&] { real_.multiply_by_left(shape, matrix, left, right); });
  }
  void multiply_factors(const kernels::MatrixShape& shape, const std::byte* left, const std::byte* right,
                        kernels::ProductUse does, kernels::Target to) const override {
    show_data([&] { real_.multiply_factors(shape, left, right, does, to); });
  }
  void orthonormalize(std::size_t vectors, kernels::Target factor) const override {
    show_data([&] { real_.orthonormalize(vectors, factor); });
  }
  void draw_missing(std::size_t vectors, const kernels::RandomStream& random, kernels::Target factor) const override {
    show_data([&] { real_.draw_missing(vectors, random, factor); });
  }

  void sketch(const kernels::SketchShape& shape, kernels::Source from, const std::byte* map,
              kernels::Target table) const override {
    show_all([&] { real_.sketch(shape, from, map, table); });
  }
  void decode_sketch(const kernels::SketchShape& shape, const kernels::Decoding& with,
                     kernels::Target out) const override {
    show_all([&] { real_.decode_sketch(shape, with, out); });
  }
  void peel_sketch(const kernels::SketchShape& shape, const kernels::Peeling& with, kernels::Target table,
                   kernels::Target out, kernels::Peeled* peeled) const override {
    show_all([&] { real_.peel_sketch(shape, with, table, out, peeled); });
  }

 private:
  void show_data(const auto& compute) const { show(Sees::Data, compute); }
  void show_all(const auto& compute) const { show(Sees::All, compute); }
  void show(Sees sees, const auto& compute) const {
    show_(sees);
    compute();
    show_(Sees::Tables);
  }

  const Backend& real_;
  std::function<void(Sees)> show_;
};

}  // namespace lacuna::test
