#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"

namespace lacuna::test {

/// What may be touched now. A kernel's own code may touch the control tables, most functions of a backend the data, and
/// some functions both.
enum class Sees { Tables, Data, All };

/// A call of a function of a backend.
struct BackendCall {
  std::string_view function;
  Sees sees;                           ///< what the function may touch
  std::vector<const void*> addresses;  ///< where it reads and writes, also those in lists of views
};

/// Hands each call on to `run`, with a function that computes it by another backend. That may be called later: it has
/// copies of what a backend reads at the call.
class RunBackend final : public kernels::Backend {
 public:
  using Run = std::function<void(const BackendCall& call, const std::function<void()>& compute)>;

  RunBackend(const Backend& real, Run run) : real_(real), run_(std::move(run)) {}

  std::string_view name() const override { return real_.name(); }
  std::size_t elements_in_cache() const override { return real_.elements_in_cache(); }
  void reduce(Reduction reduction, const SumScale& scale, const kernels::Target& out, const std::byte* a,
              const std::byte* b) const override {
    run_({"reduce", Sees::Data, {out.data, a, b}}, [=, this] { real_.reduce(reduction, scale, out, a, b); });
  }
  void clear(const kernels::Target& out) const override {
    run_({"clear", Sees::Data, {out.data}}, [=, this] { real_.clear(out); });
  }
  void copy(Scale scale, const kernels::Target& out, const std::byte* in) const override {
    run_({"copy", Sees::Data, {out.data, in}}, [=, this] { real_.copy(scale, out, in); });
  }
  void sum_of_powers(kernels::Source from, int power, double scale, double* sum) const override {
    run_({"sum_of_powers", Sees::Data, {from.data, sum}}, [=, this] { real_.sum_of_powers(from, power, scale, sum); });
  }
  void feed_back(const kernels::FeedBack& by, kernels::Target residual, std::byte* velocity,
                 const std::byte* input) const override {
    run_({"feed_back", Sees::Data, {residual.data, velocity, input}},
         [=, this] { real_.feed_back(by, residual, velocity, input); });
  }
  void convert(kernels::Source from, kernels::Target to, std::byte* rest) const override {
    run_({"convert", Sees::Data, {from.data, to.data, rest}}, [=, this] { real_.convert(from, to, rest); });
  }
  void accumulate(Reduction reduction, const SumScale& scale, kernels::Target sum,
                  kernels::Source term) const override {
    run_({"accumulate", Sees::Data, {sum.data, term.data}},
         [=, this] { real_.accumulate(reduction, scale, sum, term); });
  }
  void compare(kernels::Source a, const std::byte* b, kernels::Comparison* sums) const override {
    run_({"compare", Sees::Data, {a.data, b, sums}}, [=, this] { real_.compare(a, b, sums); });
  }
  void largest(kernels::Source from, std::uint64_t k, std::byte* workspace, kernels::Cut* cut) const override {
    run_({"largest", Sees::Data, {from.data, workspace, cut}}, [=, this] { real_.largest(from, k, workspace, cut); });
  }
  void estimate(kernels::Source from, std::uint64_t k, std::size_t samples, const Sampler& sampler, std::byte* room,
                std::byte* workspace, kernels::Cut* cut) const override {
    run_({"estimate", Sees::Data, {from.data, room, workspace, cut}},
         [=, this] { real_.estimate(from, k, samples, sampler, room, workspace, cut); });
  }
  void count(kernels::Source from, const kernels::Cut* cut, std::uint64_t* count) const override {
    run_({"count", Sees::Data, {from.data, cut, count}}, [=, this] { real_.count(from, cut, count); });
  }
  void compact(kernels::Source from, const kernels::Cut* cut, kernels::EntriesList to,
               std::uint64_t* taken) const override {
    run_({"compact", Sees::Data, {from.data, cut, to.places, to.values, taken}},
         [=, this] { real_.compact(from, cut, to, taken); });
  }
  void keep(const kernels::EntriesView& entries, const kernels::Cut* cut, kernels::EntriesList kept,
            const kernels::Rest& rest, std::uint64_t* taken) const override {
    run_({"keep", Sees::Data, {entries.places, entries.values, cut, kept.places, kept.values, rest.data, taken}},
         [=, this] { real_.keep(entries, cut, kept, rest, taken); });
  }
  void sample_magnitudes(kernels::Source from, std::size_t stride, std::span<std::uint32_t> to) const override {
    run_({"sample_magnitudes", Sees::All, {from.data, to.data()}},
         [=, this] { real_.sample_magnitudes(from, stride, to); });
  }
  void count_magnitudes(kernels::Source from, std::size_t samples, std::uint32_t* bins) const override {
    run_({"count_magnitudes", Sees::All, {from.data, bins}},
         [=, this] { real_.count_magnitudes(from, samples, bins); });
  }
  void histogram(std::span<const std::uint32_t> places, std::size_t length, std::span<std::int64_t> bins,
                 std::span<std::int64_t> skews) const override {
    run_({"histogram", Sees::All, {places.data(), bins.data(), skews.data()}},
         [=, this] { real_.histogram(places, length, bins, skews); });
  }
  void find_range(std::span<const std::uint32_t> places, std::uint64_t begin, std::uint64_t end,
                  kernels::Between* found) const override {
    run_({"find_range", Sees::Data, {places.data(), found}},
         [=, this] { real_.find_range(places, begin, end, found); });
  }
  void sample_places(std::span<const std::uint32_t> places, const kernels::EvenSample& of,
                     std::uint32_t* words) const override {
    run_({"sample_places", Sees::All, {places.data(), words}}, [=, this] { real_.sample_places(places, of, words); });
  }
  void find_common(std::span<const std::uint32_t> places, std::span<const std::uint32_t> others, std::uint32_t* found,
                   std::uint64_t* count) const override {
    run_({"find_common", Sees::Data, {places.data(), others.data(), found, count}},
         [=, this] { real_.find_common(places, others, found, count); });
  }
  void find_beyond(std::span<const std::uint32_t> places, std::size_t length, kernels::Beyond* found) const override {
    run_({"find_beyond", Sees::Data, {places.data(), found}}, [=, this] { real_.find_beyond(places, length, found); });
  }
  void clear_at(std::span<const std::uint32_t> places, kernels::Target to) const override {
    run_({"clear_at", Sees::Data, {places.data(), to.data}}, [=, this] { real_.clear_at(places, to); });
  }
  void add_at(std::span<const std::uint32_t> places, const std::byte* values, kernels::Target to) const override {
    run_({"add_at", Sees::Data, {places.data(), values, to.data}}, [=, this] { real_.add_at(places, values, to); });
  }
  void gather(std::span<const std::uint32_t> places, kernels::Source from, std::byte* to) const override {
    run_({"gather", Sees::Data, {places.data(), from.data, to}}, [=, this] { real_.gather(places, from, to); });
  }
  void sort(Dtype dtype, const kernels::EntriesView& list, std::size_t length, kernels::EntriesList to,
            kernels::EntriesList spare, std::byte* workspace, std::uint64_t* taken,
            std::uint64_t* sound) const override {
    run_({"sort",
          Sees::Data,
          {list.places, list.values, to.places, to.values, spare.places, spare.values, workspace, taken, sound}},
         [=, this] { real_.sort(dtype, list, length, to, spare, workspace, taken, sound); });
  }
  void pack_bits(std::span<const std::uint32_t> places, std::uint32_t base, std::size_t length,
                 std::byte* map) const override {
    run_({"pack_bits", Sees::Data, {places.data(), map}}, [=, this] { real_.pack_bits(places, base, length, map); });
  }
  void unpack_bits(const std::byte* map, std::size_t length, std::uint32_t* places,
                   std::uint64_t* count) const override {
    run_({"unpack_bits", Sees::Data, {map, places, count}},
         [=, this] { real_.unpack_bits(map, length, places, count); });
  }
  void count_bits(const std::byte* map, std::size_t length, std::uint32_t* before) const override {
    run_({"count_bits", Sees::Data, {map, before}}, [=, this] { real_.count_bits(map, length, before); });
  }
  void find_blocks(kernels::Source from, const kernels::BlockGrid& grid, const kernels::Cut* cut,
                   std::byte* map) const override {
    run_({"find_blocks", Sees::All, {from.data, cut, map}}, [=, this] { real_.find_blocks(from, grid, cut, map); });
  }
  void rank_bits(const std::byte* map, std::size_t length, std::uint32_t* ranks) const override {
    run_({"rank_bits", Sees::All, {map, ranks}}, [=, this] { real_.rank_bits(map, length, ranks); });
  }
  void unite_bits(std::byte* map, const std::byte* other, std::size_t length) const override {
    run_({"unite_bits", Sees::All, {map, other}}, [=, this] { real_.unite_bits(map, other, length); });
  }
  void take_blocks(kernels::Source from, const kernels::BlockGrid& grid, const kernels::BlockSet& set,
                   std::byte* packed) const override {
    run_({"take_blocks", Sees::All, {from.data, set.map, set.ranks, packed}},
         [=, this] { real_.take_blocks(from, grid, set, packed); });
  }
  void put_blocks(const std::byte* packed, const kernels::BlockGrid& grid, const kernels::BlockSet& set, bool clears,
                  kernels::Target to) const override {
    run_({"put_blocks", Sees::All, {packed, set.map, set.ranks, to.data}},
         [=, this] { real_.put_blocks(packed, grid, set, clears, to); });
  }
  void sum_rows(Dtype dtype, const std::byte* rows, std::size_t length, std::size_t count, const std::uint32_t* begins,
                const std::uint32_t* order, std::byte* packed) const override {
    run_({"sum_rows", Sees::All, {rows, begins, order, packed}},
         [=, this] { real_.sum_rows(dtype, rows, length, count, begins, order, packed); });
  }
  void clear_blocks(const kernels::BlockGrid& grid, const kernels::BlockSet& set, kernels::Target to) const override {
    run_({"clear_blocks", Sees::All, {set.map, set.ranks, to.data}}, [=, this] { real_.clear_blocks(grid, set, to); });
  }
  void reduce_blocks(std::span<const kernels::BlockSource> sources,
                     const kernels::ReduceBlocksCall& call) const override {
    std::vector list(sources.begin(), sources.end());
    run_({"reduce_blocks", Sees::All, addresses_of(list, call.out, call.result.map, call.result.ranks)},
         [=, this] { real_.reduce_blocks(list, call); });
  }
  void copy_bytes(const std::byte* from, std::size_t bytes, std::byte* to) const override {
    run_({"copy_bytes", Sees::All, {from, to}}, [=, this] { real_.copy_bytes(from, bytes, to); });
  }
  void encode(const kernels::EntriesHeader& header, const kernels::EntriesView& list, std::byte* to) const override {
    run_({"encode", Sees::Data, {list.places, list.values, to}}, [=, this] { real_.encode(header, list, to); });
  }
  void read_header(const std::byte* message, kernels::EntriesHeader* header) const override {
    run_({"read_header", Sees::Data, {message, header}}, [=, this] { real_.read_header(message, header); });
  }
  void index(const kernels::EntriesView& view, std::size_t length, std::uint32_t* before,
             std::uint64_t* sound) const override {
    run_({"index", Sees::Data, {view.places, view.values, before, sound}},
         [=, this] { real_.index(view, length, before, sound); });
  }
  void sum(std::span<const kernels::EntriesView> views, const std::uint32_t* const* before, Scale scale,
           kernels::Target out, std::uint64_t* entries) const override {
    std::vector list(views.begin(), views.end());
    std::vector tables(before, before + views.size());
    run_({"sum", Sees::All, addresses_of(list, tables, out.data, entries)},
         [=, this] { real_.sum(list, tables.data(), scale, out, entries); });
  }
  void merge(std::span<const kernels::EntriesView> views, const std::uint32_t* const* before, Scale scale,
             std::size_t length, kernels::Target room, kernels::EntriesList to, std::uint64_t* taken) const override {
    std::vector list(views.begin(), views.end());
    std::vector tables(before, before + views.size());
    run_({"merge", Sees::All, addresses_of(list, tables, room.data, to.places, to.values, taken)},
         [=, this] { real_.merge(list, tables.data(), scale, length, room, to, taken); });
  }
  void encode_levels(const kernels::LevelsShape& shape, const kernels::RandomStream& random, kernels::Source from,
                     std::byte* message, std::byte* rest) const override {
    run_({"encode_levels", Sees::Data, {from.data, message, rest}},
         [=, this] { real_.encode_levels(shape, random, from, message, rest); });
  }
  void decode_levels(const kernels::LevelsShape& shape, const std::byte* message, double factor, kernels::Target to,
                     bool adds) const override {
    run_({"decode_levels", Sees::Data, {message, to.data}},
         [=, this] { real_.decode_levels(shape, message, factor, to, adds); });
  }
  void multiply_by_right(const kernels::MatrixShape& shape, kernels::Source matrix, const std::byte* right,
                         std::byte* left) const override {
    run_({"multiply_by_right", Sees::Data, {matrix.data, right, left}},
         [=, this] { real_.multiply_by_right(shape, matrix, right, left); });
  }
  void multiply_by_left(const kernels::MatrixShape& shape, kernels::Source matrix, const std::byte* left,
                        std::byte* right) const override {
    run_({"multiply_by_left", Sees::Data, {matrix.data, left, right}},
         [=, this] { real_.multiply_by_left(shape, matrix, left, right); });
  }
  void multiply_factors(const kernels::Factors& factors, kernels::ProductUse does, kernels::Target to) const override {
    run_({"multiply_factors", Sees::Data, {factors.left, factors.right, to.data}},
         [=, this] { real_.multiply_factors(factors, does, to); });
  }
  void orthonormalize(std::size_t vectors, kernels::Target factor, double* sums) const override {
    run_({"orthonormalize", Sees::Data, {factor.data, sums}},
         [=, this] { real_.orthonormalize(vectors, factor, sums); });
  }
  void draw_missing(std::size_t vectors, const kernels::RandomStream& random, double most, kernels::Target factor,
                    double* sums) const override {
    run_({"draw_missing", Sees::Data, {factor.data, sums}},
         [=, this] { real_.draw_missing(vectors, random, most, factor, sums); });
  }
  void sketch(const kernels::SketchShape& shape, kernels::Source from, const std::byte* map,
              kernels::Target table) const override {
    run_({"sketch", Sees::All, {from.data, map, table.data}}, [=, this] { real_.sketch(shape, from, map, table); });
  }
  void decode_sketch(const kernels::SketchShape& shape, const kernels::Decoding& with,
                     kernels::Target out) const override {
    run_({"decode_sketch", Sees::All, {with.map, with.table, with.own_table, with.residual, out.data}},
         [=, this] { real_.decode_sketch(shape, with, out); });
  }
  void peel_sketch(const kernels::SketchShape& shape, const kernels::Peeling& with, kernels::Target table,
                   kernels::Target out, kernels::Peeled* peeled) const override {
    run_({"peel_sketch", Sees::All, {with.map, with.left, with.room, table.data, out.data, peeled}},
         [=, this] { real_.peel_sketch(shape, with, table, out, peeled); });
  }

 private:
  static void add(std::vector<const void*>& all, const void* address) { all.push_back(address); }
  static void add(std::vector<const void*>& all, const std::vector<const std::uint32_t*>& addresses) {
    all.insert(all.end(), addresses.begin(), addresses.end());
  }
  static void add(std::vector<const void*>& all, const std::vector<kernels::EntriesView>& views) {
    for (const kernels::EntriesView& view : views) all.insert(all.end(), {view.places, view.values});
  }
  static void add(std::vector<const void*>& all, const std::vector<kernels::BlockSource>& sources) {
    for (const kernels::BlockSource& source : sources) {
      all.insert(all.end(), {source.set.map, source.set.ranks, source.data});
    }
  }
  template <class... Places>
  static std::vector<const void*> addresses_of(const Places&... places) {
    std::vector<const void*> all;
    (add(all, places), ...);
    return all;
  }

  const Backend& real_;
  Run run_;
};

}  // namespace lacuna::test
