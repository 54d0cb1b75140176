#include "kernels/told_backend.hpp"

namespace lacuna::kernels {

ToldBackend::ToldBackend(Device& device) : on_(device.kernels()), cells_(device) {}

std::string_view ToldBackend::name() const { return on_.name(); }
std::size_t ToldBackend::elements_in_cache() const { return on_.elements_in_cache(); }

void ToldBackend::reduce(Reduction reduction, const SumScale& scale, const Target& out, const std::byte* a,
                         const std::byte* b) const {
  ToldResults results(cells_);
  results.note(out.data);
  on_.reduce(reduction, scale, out, a, b);
  results.wait();
}

void ToldBackend::clear(const Target& out) const {
  ToldResults results(cells_);
  results.note(out.data);
  on_.clear(out);
  results.wait();
}

void ToldBackend::copy(Scale scale, const Target& out, const std::byte* in) const {
  ToldResults results(cells_);
  results.note(out.data);
  on_.copy(scale, out, in);
  results.wait();
}

void ToldBackend::sum_of_powers(Source from, int power, double scale, double* sum) const {
  ToldResults results(cells_);
  on_.sum_of_powers(from, power, scale, results.at(sum));
  results.wait();
}

void ToldBackend::feed_back(const FeedBack& by, Target residual, std::byte* velocity, const std::byte* input) const {
  ToldResults results(cells_);
  results.note(residual.data);
  on_.feed_back(by, residual, velocity, input);
  results.wait();
}

void ToldBackend::convert(Source from, Target to, std::byte* rest) const {
  ToldResults results(cells_);
  results.note(to.data);
  on_.convert(from, to, rest);
  results.wait();
}

void ToldBackend::accumulate(Reduction reduction, const SumScale& scale, Target sum, Source term) const {
  ToldResults results(cells_);
  results.note(sum.data);
  on_.accumulate(reduction, scale, sum, term);
  results.wait();
}

void ToldBackend::compare(Source a, const std::byte* b, Comparison* sums) const {
  ToldResults results(cells_);
  on_.compare(a, b, results.at(sums));
  results.wait();
}

void ToldBackend::largest(Source from, std::uint64_t k, std::byte* workspace, Cut* cut) const {
  ToldResults results(cells_);
  on_.largest(from, k, workspace, results.at(cut));
  results.wait();
}

void ToldBackend::estimate(Source from, std::uint64_t k, std::size_t samples, const Sampler& sampler, std::byte* room,
                           std::byte* workspace, Cut* cut) const {
  ToldResults results(cells_);
  on_.estimate(from, k, samples, sampler, room, workspace, results.at(cut));
  results.wait();
}

void ToldBackend::count(Source from, const Cut* cut, std::uint64_t* count) const {
  ToldResults results(cells_);
  on_.count(from, results.given(cut), results.at(count));
  results.wait();
}

void ToldBackend::compact(Source from, const Cut* cut, EntriesList to, std::uint64_t* taken) const {
  ToldResults results(cells_);
  results.note(to.values);
  on_.compact(from, results.given(cut), to, results.at(taken));
  results.wait();
}

void ToldBackend::keep(const EntriesView& entries, const Cut* cut, EntriesList kept, const Rest& rest,
                       std::uint64_t* taken) const {
  ToldResults results(cells_);
  results.note(kept.values);
  on_.keep(entries, results.given(cut), kept, rest, results.at(taken));
  results.wait();
}

void ToldBackend::sample_magnitudes(Source from, std::size_t stride, std::span<std::uint32_t> to) const {
  ToldResults results(cells_);
  on_.sample_magnitudes(from, stride, {results.at(to.data(), to.size()), to.size()});
  results.wait();
}

void ToldBackend::count_magnitudes(Source from, std::size_t samples, std::uint32_t* bins) const {
  ToldResults results(cells_);
  on_.count_magnitudes(from, samples, results.at(bins, magnitude_bins));
  results.wait();
}

void ToldBackend::histogram(std::span<const std::uint32_t> places, std::size_t length, std::span<std::int64_t> bins,
                            std::span<std::int64_t> skews) const {
  ToldResults results(cells_);
  on_.histogram(places, length, {results.at(bins.data(), bins.size()), bins.size()},
                {results.at(skews.data(), skews.size()), skews.size()});
  results.wait();
}

void ToldBackend::find_range(std::span<const std::uint32_t> places, std::uint64_t begin, std::uint64_t end,
                             Between* found) const {
  ToldResults results(cells_);
  on_.find_range(places, begin, end, results.at(found));
  results.wait();
}

void ToldBackend::sample_places(std::span<const std::uint32_t> places, const EvenSample& of,
                                std::uint32_t* words) const {
  ToldResults results(cells_);
  on_.sample_places(places, of, results.at(words, 1 + of.samples));
  results.wait();
}

void ToldBackend::find_common(std::span<const std::uint32_t> places, std::span<const std::uint32_t> others,
                              std::uint32_t* found, std::uint64_t* count) const {
  ToldResults results(cells_);
  results.note(found);
  on_.find_common(places, others, found, results.at(count));
  results.wait();
}

void ToldBackend::find_beyond(std::span<const std::uint32_t> places, std::size_t length, Beyond* found) const {
  ToldResults results(cells_);
  on_.find_beyond(places, length, results.at(found));
  results.wait();
}

void ToldBackend::clear_at(std::span<const std::uint32_t> places, Target to) const {
  ToldResults results(cells_);
  results.note(to.data);
  on_.clear_at(places, to);
  results.wait();
}

void ToldBackend::add_at(std::span<const std::uint32_t> places, const std::byte* values, Target to) const {
  ToldResults results(cells_);
  results.note(to.data);
  on_.add_at(places, values, to);
  results.wait();
}

void ToldBackend::gather(std::span<const std::uint32_t> places, Source from, std::byte* to) const {
  ToldResults results(cells_);
  results.note(to);
  on_.gather(places, from, to);
  results.wait();
}

void ToldBackend::sort(Dtype dtype, const EntriesView& list, std::size_t length, EntriesList to, EntriesList spare,
                       std::byte* workspace, std::uint64_t* taken, std::uint64_t* sound) const {
  ToldResults results(cells_);
  on_.sort(dtype, list, length, to, spare, workspace, results.at(taken), results.at(sound));
  results.wait();
}

void ToldBackend::pack_bits(std::span<const std::uint32_t> places, std::uint32_t base, std::size_t length,
                            std::byte* map) const {
  ToldResults results(cells_);
  results.note(map);
  on_.pack_bits(places, base, length, map);
  results.wait();
}

void ToldBackend::unpack_bits(const std::byte* map, std::size_t length, std::uint32_t* places,
                              std::uint64_t* count) const {
  ToldResults results(cells_);
  results.note(places);
  on_.unpack_bits(map, length, places, results.at(count));
  results.wait();
}

void ToldBackend::count_bits(const std::byte* map, std::size_t length, std::uint32_t* before) const {
  ToldResults results(cells_);
  results.note(before);
  on_.count_bits(map, length, before);
  results.wait();
}

void ToldBackend::find_blocks(Source from, const BlockGrid& grid, const Cut* cut, std::byte* map) const {
  ToldResults results(cells_);
  results.note(map);
  on_.find_blocks(from, grid, results.given(cut), map);
  results.wait();
}

void ToldBackend::rank_bits(const std::byte* map, std::size_t length, std::uint32_t* ranks) const {
  ToldResults results(cells_);
  results.note(ranks);
  on_.rank_bits(map, length, ranks);
  results.wait();
}

void ToldBackend::unite_bits(std::byte* map, const std::byte* other, std::size_t length) const {
  ToldResults results(cells_);
  results.note(map);
  on_.unite_bits(map, other, length);
  results.wait();
}

void ToldBackend::take_blocks(Source from, const BlockGrid& grid, const BlockSet& set, std::byte* packed) const {
  ToldResults results(cells_);
  results.note(packed);
  on_.take_blocks(from, grid, set, packed);
  results.wait();
}

void ToldBackend::put_blocks(const std::byte* packed, const BlockGrid& grid, const BlockSet& set, bool clears,
                             Target to) const {
  ToldResults results(cells_);
  results.note(to.data);
  on_.put_blocks(packed, grid, set, clears, to);
  results.wait();
}

void ToldBackend::sum_rows(Dtype dtype, const std::byte* rows, std::size_t length, std::size_t count,
                           const std::uint32_t* begins, const std::uint32_t* order, std::byte* packed) const {
  ToldResults results(cells_);
  results.note(packed);
  on_.sum_rows(dtype, rows, length, count, begins, order, packed);
  results.wait();
}

void ToldBackend::clear_blocks(const BlockGrid& grid, const BlockSet& set, Target to) const {
  ToldResults results(cells_);
  results.note(to.data);
  on_.clear_blocks(grid, set, to);
  results.wait();
}

void ToldBackend::reduce_blocks(std::span<const BlockSource> sources, const ReduceBlocksCall& call) const {
  ToldResults results(cells_);
  results.note(call.out);
  on_.reduce_blocks(sources, call);
  results.wait();
}

void ToldBackend::copy_bytes(const std::byte* from, std::size_t bytes, std::byte* to) const {
  ToldResults results(cells_);
  on_.copy_bytes(results.given(from, bytes), bytes, results.at(to, bytes));
  results.wait();
}

void ToldBackend::encode(const EntriesHeader& header, const EntriesView& list, std::byte* to) const {
  ToldResults results(cells_);
  results.note(to);
  on_.encode(header, list, to);
  results.wait();
}

void ToldBackend::read_header(const std::byte* message, EntriesHeader* header) const {
  ToldResults results(cells_);
  on_.read_header(message, results.at(header));
  results.wait();
}

void ToldBackend::index(const EntriesView& view, std::size_t length, std::uint32_t* before,
                        std::uint64_t* sound) const {
  ToldResults results(cells_);
  results.note(before);
  on_.index(view, length, before, results.at(sound));
  results.wait();
}

void ToldBackend::sum(std::span<const EntriesView> views, const std::uint32_t* const* before, Scale scale, Target out,
                      std::uint64_t* entries) const {
  ToldResults results(cells_);
  results.note(out.data);
  on_.sum(views, before, scale, out, results.at(entries));
  results.wait();
}

void ToldBackend::merge(std::span<const EntriesView> views, const std::uint32_t* const* before, Scale scale,
                        std::size_t length, Target room, EntriesList to, std::uint64_t* taken) const {
  ToldResults results(cells_);
  results.note(to.values);
  on_.merge(views, before, scale, length, room, to, results.at(taken));
  results.wait();
}

void ToldBackend::encode_levels(const LevelsShape& shape, const RandomStream& random, Source from, std::byte* message,
                                std::byte* rest) const {
  ToldResults results(cells_);
  results.note(message);
  on_.encode_levels(shape, random, from, message, rest);
  results.wait();
}

void ToldBackend::decode_levels(const LevelsShape& shape, const std::byte* message, double factor, Target to,
                                bool adds) const {
  ToldResults results(cells_);
  results.note(to.data);
  on_.decode_levels(shape, message, factor, to, adds);
  results.wait();
}

void ToldBackend::multiply_by_right(const MatrixShape& shape, Source matrix, const std::byte* right,
                                    std::byte* left) const {
  ToldResults results(cells_);
  results.note(left);
  on_.multiply_by_right(shape, matrix, right, left);
  results.wait();
}

void ToldBackend::multiply_by_left(const MatrixShape& shape, Source matrix, const std::byte* left,
                                   std::byte* right) const {
  ToldResults results(cells_);
  results.note(right);
  on_.multiply_by_left(shape, matrix, left, right);
  results.wait();
}

void ToldBackend::multiply_factors(const Factors& factors, ProductUse does, Target to) const {
  ToldResults results(cells_);
  results.note(to.data);
  on_.multiply_factors(factors, does, to);
  results.wait();
}

void ToldBackend::orthonormalize(std::size_t vectors, Target factor, double* sums) const {
  ToldResults results(cells_);
  results.note(factor.data);
  on_.orthonormalize(vectors, factor, sums);
  results.wait();
}

void ToldBackend::draw_missing(std::size_t vectors, const RandomStream& random, double most, Target factor,
                               double* sums) const {
  ToldResults results(cells_);
  results.note(factor.data);
  on_.draw_missing(vectors, random, most, factor, sums);
  results.wait();
}

void ToldBackend::sketch(const SketchShape& shape, Source from, const std::byte* map, Target table) const {
  ToldResults results(cells_);
  results.note(table.data);
  on_.sketch(shape, from, map, table);
  results.wait();
}

void ToldBackend::decode_sketch(const SketchShape& shape, const Decoding& with, Target out) const {
  ToldResults results(cells_);
  results.note(out.data);
  on_.decode_sketch(shape, with, out);
  results.wait();
}

void ToldBackend::peel_sketch(const SketchShape& shape, const Peeling& with, Target table, Target out,
                              Peeled* peeled) const {
  ToldResults results(cells_);
  results.note(out.data);
  results.note(with.left);
  on_.peel_sketch(shape, with, table, out, results.at(peeled));
  results.wait();
}

}  // namespace lacuna::kernels
