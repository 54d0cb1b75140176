#pragma once

#include "kernels/backend.hpp"
#include "kernels/elements.hpp"
#include "kernels/space.hpp"

namespace lacuna::kernels {

/// The kernels, computed by the loops of Space. Each file that includes this defines a few of the functions, and
/// nothing else that other files see. The core compiles these files, and so does each library of kernels, for an
/// instruction set or a space of its own. Each of them defines name().
class SpaceBackend final : public Backend {
 public:
  std::string_view name() const override;
  std::size_t elements_in_cache() const override { return Space::elements_in_cache; }
  void reduce(Reduction reduction, const SumScale& scale, const Target& out, const std::byte* a,
              const std::byte* b) const override;
  void copy(Scale scale, const Target& out, const std::byte* in) const override;
  void clear(const Target& out) const override;
  void sum_of_powers(Source from, int power, double scale, double* sum) const override;
  void feed_back(const FeedBack& by, Target residual, std::byte* velocity, const std::byte* input) const override;
  void convert(Source from, Target to, std::byte* rest) const override;
  void accumulate(Reduction reduction, const SumScale& scale, Target sum, Source term) const override;
  void compare(Source a, const std::byte* b, Comparison* sums) const override;
  void largest(Source from, std::uint64_t k, std::byte* workspace, Cut* cut) const override;
  void estimate(Source from, std::uint64_t k, std::size_t samples, const Sampler& sampler, std::byte* room,
                std::byte* workspace, Cut* cut) const override;
  void count(Source from, const Cut* cut, std::uint64_t* count) const override;
  void compact(Source from, const Cut* cut, EntriesList to, std::uint64_t* taken) const override;
  void keep(const EntriesView& entries, const Cut* cut, EntriesList kept, const Rest& rest,
            std::uint64_t* taken) const override;
  void sample_magnitudes(Source from, std::size_t stride, std::span<std::uint32_t> to) const override;
  void count_magnitudes(Source from, std::size_t samples, std::uint32_t* bins) const override;
  void histogram(std::span<const std::uint32_t> places, std::size_t length, std::span<std::int64_t> bins,
                 std::span<std::int64_t> skews) const override;
  void find_range(std::span<const std::uint32_t> places, std::uint64_t begin, std::uint64_t end,
                  Between* found) const override;
  void sample_places(std::span<const std::uint32_t> places, const EvenSample& of, std::uint32_t* words) const override;
  void find_common(std::span<const std::uint32_t> places, std::span<const std::uint32_t> others, std::uint32_t* found,
                   std::uint64_t* count) const override;
  void find_beyond(std::span<const std::uint32_t> places, std::size_t length, Beyond* found) const override;
  void clear_at(std::span<const std::uint32_t> places, Target to) const override;
  void add_at(std::span<const std::uint32_t> places, const std::byte* values, Target to) const override;
  void gather(std::span<const std::uint32_t> places, Source from, std::byte* to) const override;
  void sort(Dtype dtype, const EntriesView& list, std::size_t length, EntriesList to, EntriesList spare,
            std::byte* workspace, std::uint64_t* taken, std::uint64_t* sound) const override;
  void pack_bits(std::span<const std::uint32_t> places, std::uint32_t base, std::size_t length,
                 std::byte* map) const override;
  void unpack_bits(const std::byte* map, std::size_t length, std::uint32_t* places,
                   std::uint64_t* count) const override;
  void count_bits(const std::byte* map, std::size_t length, std::uint32_t* before) const override;
  void find_blocks(Source from, const BlockGrid& grid, const Cut* cut, std::byte* map) const override;
  void rank_bits(const std::byte* map, std::size_t length, std::uint32_t* ranks) const override;
  void unite_bits(std::byte* map, const std::byte* other, std::size_t length) const override;
  void take_blocks(Source from, const BlockGrid& grid, const BlockSet& set, std::byte* packed) const override;
  void put_blocks(const std::byte* packed, const BlockGrid& grid, const BlockSet& set, bool clears,
                  Target to) const override;
  void sum_rows(Dtype dtype, const std::byte* rows, std::size_t length, std::size_t count, const std::uint32_t* begins,
                const std::uint32_t* order, std::byte* packed) const override;
  void clear_blocks(const BlockGrid& grid, const BlockSet& set, Target to) const override;
  void reduce_blocks(std::span<const BlockSource> sources, const ReduceBlocksCall& call) const override;
  void copy_bytes(const std::byte* from, std::size_t bytes, std::byte* to) const override;
  void encode(const EntriesHeader& header, const EntriesView& list, std::byte* to) const override;
  void read_header(const std::byte* message, EntriesHeader* header) const override;
  void index(const EntriesView& view, std::size_t length, std::uint32_t* before, std::uint64_t* sound) const override;
  void sum(std::span<const EntriesView> views, const std::uint32_t* const* before, Scale scale, Target out,
           std::uint64_t* entries) const override;
  void merge(std::span<const EntriesView> views, const std::uint32_t* const* before, Scale scale, std::size_t length,
             Target room, EntriesList to, std::uint64_t* taken) const override;

  void encode_levels(const LevelsShape& shape, const RandomStream& random, Source from, std::byte* message,
                     std::byte* rest) const override;
  void decode_levels(const LevelsShape& shape, const std::byte* message, double factor, Target to,
                     bool adds) const override;
  void multiply_by_right(const MatrixShape& shape, Source matrix, const std::byte* right,
                         std::byte* left) const override;
  void multiply_by_left(const MatrixShape& shape, Source matrix, const std::byte* left,
                        std::byte* right) const override;
  void multiply_factors(const Factors& factors, ProductUse does, Target to) const override;
  void orthonormalize(std::size_t vectors, Target factor, double* sums) const override;
  void draw_missing(std::size_t vectors, const RandomStream& random, double most, Target factor,
                    double* sums) const override;

  void sketch(const SketchShape& shape, Source from, const std::byte* map, Target table) const override;
  void decode_sketch(const SketchShape& shape, const Decoding& with, Target out) const override;
  void peel_sketch(const SketchShape& shape, const Peeling& with, Target table, Target out,
                   Peeled* peeled) const override;
};

/// Calls visit(Element<T>()), where T is double for f64 and float for all other dtypes.
template <class Visit>
void with_number(Dtype dtype, const Visit& visit) {
  dtype == Dtype::F64 ? visit(Element<double>()) : visit(Element<float>());
}

}  // namespace lacuna::kernels
