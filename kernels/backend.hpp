#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/block_grid.hpp"
#include "kernels/entries.hpp"
#include "kernels/levels.hpp"
#include "kernels/matrices.hpp"
#include "kernels/sketches.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/sampler.hpp"
#include "runtime/values/scale.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::kernels {

/// Elements that are read. They may lie at any address.
struct Source {
  Dtype dtype = Dtype::F32;
  const std::byte* data = nullptr;
  std::size_t count = 0;
};

/// Elements that are written. They may lie at any address.
struct Target {
  Dtype dtype = Dtype::F32;
  std::byte* data = nullptr;
  std::size_t count = 0;
};

/// Says by magnitudes which elements of an array are taken. The magnitude of an element is its bits without the sign,
/// as an integer. Magnitudes order as absolute values do: denormals count, infinity is above all numbers, and a NaN is
/// above infinity, so that no NaN is hidden. A zero of either sign is never taken, because it adds nothing.
struct Cut {
  std::uint64_t above = 0;  ///< all elements with a larger magnitude are taken
  std::uint64_t ties = 0;   ///< the first `ties` elements with exactly this magnitude are taken too
};

/// Where Backend::keep adds the entries that it does not keep. Without data, they are dropped.
struct Rest {
  Dtype dtype = Dtype::F32;
  std::byte* data = nullptr;
  std::size_t count = 0;
  double factor = 1;  ///< what the entries are multiplied by first
};

/// The factors of the input and of the velocity in Backend::feed_back.
struct FeedBack {
  double factor = 1;    ///< factor of the input, for clipping
  double second = 1;    ///< second factor of the input, because the product of both may be too small for any number
  double momentum = 0;  ///< factor of the velocity, if there is one
};

/// Sums over two arrays; see Backend::compare.
struct Comparison {
  double distance = 0;   ///< the sum of the squares of b[i] - a[i]
  double a_squares = 0;  ///< the sum of the squares of a[i]
  double b_squares = 0;  ///< the sum of the squares of b[i]
  double products = 0;   ///< the sum of a[i] b[i]
};

/// How blocks are reduced; see Backend::reduce_blocks.
struct ReduceBlocksCall {
  Reduction reduction = Reduction::Sum;
  Scale scale{};
  Dtype dtype = Dtype::F32;
  BlockGrid grid{};
  BlockSet result{};         ///< the blocks that the result has
  std::byte* out = nullptr;  ///< the packed blocks of the result
  double term = 1;           ///< of Sum and Avg: what each source's elements are multiplied by before they are added
};

/// The entries [first, last) of a list.
struct Between {
  std::uint64_t first = 0, last = 0;
};

/// The entries of a list whose places lie beyond the array; see Backend::find_beyond.
struct Beyond {
  std::uint64_t count = 0;  ///< how many there are
  std::uint64_t entry = 0;  ///< the number of the first of them in the list
  std::uint32_t place = 0;  ///< the place of that entry
};

/// A sample of the places that a list has in [begin, end). Where the list has n places there, number i of the sample is
/// the place that has (i + share / shares) n / samples of them before it, rounded down. So samples of several lists do
/// not fall together if their shares differ.
struct EvenSample {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t samples = 0;
  std::uint64_t share = 0, shares = 1;
};

/// All that lacuna computes on the elements of buffers, by one kind of loop. No step looks into the data of a call in
/// any other way. Dtypes must be floating-point, except where a function says that it takes integers too or all dtypes.
/// No function allocates or throws. Results go to memory, not into a return value. A function whose result goes to the
/// host's memory returns when the result is there; another one may return before it has computed. Lists of views, and
/// the addresses of their indexes, are read on the host. Results of a few numbers may go to the host's memory, and so
/// may those of histogram, sample_places, sample_magnitudes and count_magnitudes, which are for control tables. Thread
/// rule: any thread, and several at the same time.
class Backend {
 public:
  virtual ~Backend() = default;
  /// The instruction set, such as "x86-64-v3", or "host" if the architecture has only one; or "kokkos" with its version
  /// and execution space.
  virtual std::string_view name() const = 0;

  // These work on whole arrays.

  /// out[i] = round((a[i] op b[i]) scaled) for i in [0, out.count). Of Sum and Avg the operands are scaled too, before
  /// they are added. All that is carried out in the accumulation type (f32 for f32 and the 16-bit types, f64 for f64),
  /// and then rounded once to the dtype. Integers wrap around and are not scaled. Avg is the same as Sum: the scale
  /// divides. Min and Max are IEEE 754-2019 minimum and maximum: a NaN wins over numbers, and -0 < +0. `out` is `a`,
  /// `b` or both, or disjoint from them. This function takes all dtypes that define the reduction, but not Own; only
  /// floating-point elements are scaled. clear() and copy() take all dtypes.
  virtual void reduce(Reduction reduction, const SumScale& scale, const Target& out, const std::byte* a,
                      const std::byte* b) const = 0;
  /// out[i] = 0.
  virtual void clear(const Target& out) const = 0;
  /// out[i] = round(in[i] scaled), scaled in the accumulation type. With a scale of one, and for all but floating-point
  /// dtypes, it is a copy. `out` and `in` are the same or disjoint. For a copy they may also overlap.
  virtual void copy(Scale scale, const Target& out, const std::byte* in) const = 0;
  /// *sum = the sum of (scale * element)^power over all elements, in f64. `power` is 1 or 2. The order of the additions
  /// depends on the count only.
  virtual void sum_of_powers(Source from, int power, double scale, double* sum) const = 0;
  /// residual[i] += added[i], where added[i] = second * (factor * input[i]). With a velocity, velocity[i] = momentum *
  /// velocity[i] + added[i], and that is added to the residual instead (Lin, Han, Mao, Wang, Dally: Deep gradient
  /// compression, 2018, equations 4 and 5). Residual and velocity are rounded to the dtype. `velocity` may be null.
  virtual void feed_back(const FeedBack& by, Target residual, std::byte* velocity, const std::byte* input) const = 0;

  /// to[i] = the element of to.dtype that is nearest to from[i], and of two the even one. It is rounded once. What is
  /// too large becomes an infinity, and a NaN stays a NaN. If `rest` is not null, rest[i] = from[i] - to[i], rounded to
  /// from.dtype; it is 0 where from[i] or to[i] is an infinity or a NaN. `rest` may be from.data.
  virtual void convert(Source from, Target to, std::byte* rest) const = 0;
  /// sum[i] = round((sum[i] op term[i]) scaled), where the elements of the term have fewer bytes than those of the sum.
  /// Only Sum and Avg are scaled, as by reduce().
  virtual void accumulate(Reduction reduction, const SumScale& scale, Target sum, Source term) const = 0;

  /// Compares two arrays of a.count elements of the dtype. The sums are in f64, in an order that depends on the count
  /// only.
  virtual void compare(Source a, const std::byte* b, Comparison* sums) const = 0;

  // These select elements of arrays, which must have fewer than 2^32 elements. `workspace` has workspace_bytes(), and
  // is aligned as a u64.

  static constexpr std::size_t workspace_bytes() { return 64 * 1024; }
  /// How many elements one call should take at a time, so that the next call finds them in a cache.
  virtual std::size_t elements_in_cache() const = 0;
  /// *cut takes exactly the k largest magnitudes, and of equal ones the first. If no more than k are not zero, it takes
  /// these. `cut->above` may be any number that does this. The method is a radix select on the bits, of at most 3
  /// passes over f32, 6 over f64 and 2 over 16 bits. For a large array, a sample gives bounds to begin with. They save
  /// passes, or cost one pass if they are wrong.
  virtual void largest(Source from, std::uint64_t k, std::byte* workspace, Cut* cut) const = 0;
  /// *cut takes about the k largest magnitudes. It is computed from `samples` elements, of which bounded_draw(sampler,
  /// i) draws the i-th, perhaps the same one several times. It takes the largest of them: the share k / from.count,
  /// rounded, and at least one. A tie among them stands for from.count / samples ties. `room` holds `samples` elements
  /// of the dtype.
  virtual void estimate(Source from, std::uint64_t k, std::size_t samples, const Sampler& sampler, std::byte* room,
                        std::byte* workspace, Cut* cut) const = 0;
  /// *count = how many elements the cut takes.
  virtual void count(Source from, const Cut* cut, std::uint64_t* count) const = 0;
  /// Appends the elements that the cut takes, in order, as the entries *taken, *taken + 1 ... of `to`, in one pass.
  /// Afterwards *taken counts them too, even those for which there was no room. Ties count from the start of `from`.
  virtual void compact(Source from, const Cut* cut, EntriesList to, std::uint64_t* taken) const = 0;
  /// Splits `entries`, which must be a list in memory. The entries whose values the cut takes go to `kept`, which is
  /// another list, and *taken counts them. Each of the others is multiplied by rest.factor and added to the element
  /// place - entries.base of `rest`, and the sum is rounded to rest.dtype, which is that of the values. Taken entries
  /// for which `kept` has no room are dropped.
  virtual void keep(const EntriesView& entries, const Cut* cut, EntriesList kept, const Rest& rest,
                    std::uint64_t* taken) const = 0;

  /// to[i] = the magnitude of from[i * stride], which must exist. Of an f64 it is the upper 32 bits.
  virtual void sample_magnitudes(Source from, std::size_t stride, std::span<std::uint32_t> to) const = 0;
  /// Looks at `samples` elements that are spread evenly over `from`, at boundary(i, from.count, samples), rounded to
  /// f32. bins[b] += how many of them are numbers whose exponent and first two bits of the mantissa are b. There are
  /// magnitude_bins bins. Takes integers too.
  virtual void count_magnitudes(Source from, std::size_t samples, std::uint32_t* bins) const = 0;
  static constexpr std::size_t magnitude_bins = 1024;

  // These work on lists of places.

  /// bins[places[i] * bins / length] += 1, in 64-bit arithmetic: bin b of B begins at the place ceil(b length / B).
  /// Places are strictly increasing. skews[b] += the skew of bin b: take any border within the bin, and compare the
  /// number of entries of the bin before it with the number if the entries were evenly spread. The skew is the largest
  /// difference, rounded up. There are as many skews as bins, and a bin has at most 2^31 places.
  virtual void histogram(std::span<const std::uint32_t> places, std::size_t length, std::span<std::int64_t> bins,
                         std::span<std::int64_t> skews) const = 0;
  /// *found = the entries whose places lie in [begin, end). In this function and the next two, places ascend.
  virtual void find_range(std::span<const std::uint32_t> places, std::uint64_t begin, std::uint64_t end,
                          Between* found) const = 0;
  /// words[0] = how many places lie in [of.begin, of.end), and words[1 + i] = number i of their sample `of`, or
  /// of.begin if no place lies there.
  virtual void sample_places(std::span<const std::uint32_t> places, const EvenSample& of,
                             std::uint32_t* words) const = 0;
  /// Writes to `found` which of the places are among `others` too, in order; *count counts them.
  virtual void find_common(std::span<const std::uint32_t> places, std::span<const std::uint32_t> others,
                           std::uint32_t* found, std::uint64_t* count) const = 0;
  /// *found tells of the places that are not below `length`. The places may stand in any order.
  virtual void find_beyond(std::span<const std::uint32_t> places, std::size_t length, Beyond* found) const = 0;
  /// to[places[i]] = 0. In this function and the next two, no place occurs twice, and all places lie in the array.
  virtual void clear_at(std::span<const std::uint32_t> places, Target to) const = 0;
  /// to[places[i]] += values[i], rounded to the dtype.
  virtual void add_at(std::span<const std::uint32_t> places, const std::byte* values, Target to) const = 0;
  /// to[i] = from[places[i]].
  virtual void gather(std::span<const std::uint32_t> places, Source from, std::byte* to) const = 0;

  /// Sorts the entries of a list, whose places may stand in any order and several times. In `to` the places ascend, and
  /// the values of one place are added in their order, each time rounded to the dtype. *taken counts the entries of
  /// `to`. *sound = 0 if a place is not below `length`; such places are left out. Else *sound = 1. `to` and `spare`
  /// have room for all entries of the list.
  virtual void sort(Dtype dtype, const EntriesView& list, std::size_t length, EntriesList to, EntriesList spare,
                    std::byte* workspace, std::uint64_t* taken, std::uint64_t* sound) const = 0;

  // These work on bitmaps. Bit i of a map is bit i % 8 of its byte i / 8. Bits beyond the length are 0.

  /// Writes a map with the bits of the places, which lie in [base, base + length) and are counted from `base`.
  virtual void pack_bits(std::span<const std::uint32_t> places, std::uint32_t base, std::size_t length,
                         std::byte* map) const = 0;
  /// Writes the places of the map's bits, in order. *count = how many there are.
  virtual void unpack_bits(const std::byte* map, std::size_t length, std::uint32_t* places,
                           std::uint64_t* count) const = 0;
  /// before[b] = how many bits stand before block b, for b in [0, blocks_of(length)]. The last one is the number of all
  /// bits. A block has block_places places.
  virtual void count_bits(const std::byte* map, std::size_t length, std::uint32_t* before) const = 0;

  // These work on blocks of arrays, also of integers. Maps and ranks are control tables or data.

  /// Writes a map of the grid's blocks. A block's bit is 1 if one of its elements has a bit that is not 0, or, with a
  /// cut, if one has a magnitude above that of the cut. Only floating-point elements have magnitudes. A block with -0
  /// or NaN so counts as not zero. `from` is the whole array of the grid.
  virtual void find_blocks(Source from, const BlockGrid& grid, const Cut* cut, std::byte* map) const = 0;
  /// ranks[w] = how many bits of the map stand before its word w, for w in [0, words_of_map(length)].
  virtual void rank_bits(const std::byte* map, std::size_t length, std::uint32_t* ranks) const = 0;
  /// map |= other, both of so many bits.
  virtual void unite_bits(std::byte* map, const std::byte* other, std::size_t length) const = 0;
  /// Packs the blocks of a set.
  virtual void take_blocks(Source from, const BlockGrid& grid, const BlockSet& set, std::byte* packed) const = 0;
  /// Writes packed blocks to their places in an array. If `clears`, all other blocks of the grid become 0.
  virtual void put_blocks(const std::byte* packed, const BlockGrid& grid, const BlockSet& set, bool clears,
                          Target to) const = 0;
  /// Packs the rows of a list. Each row has `length` elements. Packed row k is the sum of the rows order[i] of the
  /// list, for all i in [begins[k], begins[k+1]), of which there is at least one. They are added in this order in the
  /// accumulation type, and the sum is rounded once. A sum of one row has the bits of this row. `count` is the number
  /// of packed rows. `begins` and `order` are control tables or data.
  virtual void sum_rows(Dtype dtype, const std::byte* rows, std::size_t length, std::size_t count,
                        const std::uint32_t* begins, const std::uint32_t* order, std::byte* packed) const = 0;
  /// Writes 0 to the blocks of a set.
  virtual void clear_blocks(const BlockGrid& grid, const BlockSet& set, Target to) const = 0;
  /// Reduces the blocks of the result, in the order of the sources, of which there are 1 to most_views. A source that
  /// lacks a block counts as zeros. So the bits are those of a reduction of whole arrays, in this order, which is
  /// carried out in the accumulation type, scaled and then rounded once. Integers and their terms are not scaled.
  virtual void reduce_blocks(std::span<const BlockSource> sources, const ReduceBlocksCall& call) const = 0;

  // These work on messages.

  /// Copies bytes, also between data and control tables.
  virtual void copy_bytes(const std::byte* from, std::size_t bytes, std::byte* to) const = 0;
  /// Writes a message with this header, of the first header.entries entries of a list, whose places lie in [base, base
  /// + header.length). The header says which format and which dtype. `to` has message_bytes().
  virtual void encode(const EntriesHeader& header, const EntriesView& list, std::byte* to) const = 0;
  /// *header = the header of a message. Nothing is checked, so that the header may hold any numbers.
  virtual void read_header(const std::byte* message, EntriesHeader* header) const = 0;
  /// Checks a view, and writes what sum() needs to know of it: before[b] = how many entries stand before block b, for b
  /// in [0, blocks_of(length)]. *sound = 1 if the places, counted from the view's base, are strictly increasing, below
  /// `length`, and as many as the view says. If not, *sound = 0, and `before` means nothing. In the format Dense, each
  /// place counts as an entry, and nothing can be wrong.
  virtual void index(const EntriesView& view, std::size_t length, std::uint32_t* before,
                     std::uint64_t* sound) const = 0;
  /// The most views that sum() and merge() take.
  static constexpr std::size_t most_views = 1024;
  /// out[i] = round((the sum of the values that views have at i) scaled), for i in [0, out.count). The values are added
  /// in the accumulation type, to +0 and in the order of the views, and rounded once. If no view has a value, the
  /// result is 0. `before[v]` is what index() has written for view v, which must be sound. *entries += how many results
  /// are not zero.
  virtual void sum(std::span<const EntriesView> views, const std::uint32_t* const* before, Scale scale, Target out,
                   std::uint64_t* entries) const = 0;
  /// Computes the same sums as sum() over `length` places, and appends those that are not zero after rounding as
  /// entries, in order, like compact(). `room` holds merge_places elements of the dtype, or more, which saves passes.
  virtual void merge(std::span<const EntriesView> views, const std::uint32_t* const* before, Scale scale,
                     std::size_t length, Target room, EntriesList to, std::uint64_t* taken) const = 0;
  /// The least room for merge(), in elements. merge() sums up fewer places at a time, because it also counts in the
  /// room.
  static constexpr std::size_t merge_places = 16 * block_places;

  // These work on messages of levels (kernels/levels.hpp), of data of f32 or f64.

  /// Writes a message. An element is rounded to one of its two neighbours among whole numbers of spacings, so that it
  /// has the right mean: element i goes by number i of the random stream. If `rest` is not null, rest[i] is from[i]
  /// minus what the message has of it, or 0 in a block with an infinity or a NaN. `rest` may be from.data.
  virtual void encode_levels(const LevelsShape& shape, const RandomStream& random, Source from, std::byte* message,
                             std::byte* rest) const = 0;
  /// to[i] = what a message of to.count elements has of it, times `factor`, which is a power of two. If `adds`, it is
  /// added to to[i].
  virtual void decode_levels(const LevelsShape& shape, const std::byte* message, double factor, Target to,
                             bool adds) const = 0;

  // These work on matrices and factors (kernels/matrices.hpp) of f32 or f64. Sums have an order that depends on the
  // shape only.

  /// left = matrix * right
  virtual void multiply_by_right(const MatrixShape& shape, Source matrix, const std::byte* right,
                                 std::byte* left) const = 0;
  /// right = transposed matrix * left
  virtual void multiply_by_left(const MatrixShape& shape, Source matrix, const std::byte* left,
                                std::byte* right) const = 0;
  /// Multiplies the left by the transposed right factor. `does` says what becomes of the array.
  virtual void multiply_factors(const Factors& factors, ProductUse does, Target to) const = 0;
  /// Makes so many vectors of a factor orthonormal, in their order (modified Gram-Schmidt). A vector that is nearly a
  /// combination of those before it becomes 0. Vectors of all finite numbers do. `sums` has room for 3 sums, as it has
  /// for draw_missing().
  virtual void orthonormalize(std::size_t vectors, Target factor, double* sums) const = 0;
  /// Draws those of the vectors of a factor that are 0 or have an infinity or a NaN. Then it multiplies each vector by
  /// a power of two, so that no magnitude is above `most`, which is a power of two, and that of a vector which was not
  /// drawn is not far below.
  virtual void draw_missing(std::size_t vectors, const RandomStream& random, double most, Target factor,
                            double* sums) const = 0;

  // These work on sketches (kernels/sketches.hpp). A map has a bit for each block of an array, and its bits beyond the
  // last block count as 0. There are at most 2^32 - 1 blocks. Maps are control tables or data.

  /// Writes the sketch of the blocks of an array whose bits are set in the map. All other cells are 0. Takes all
  /// dtypes. The cells are of table.dtype: i64 for integers, which wrap around, and f32 or f64 for all other data. They
  /// add up in the order of the blocks.
  virtual void sketch(const SketchShape& shape, Source from, const std::byte* map, Target table) const = 0;
  /// Decodes the sum of the sketches of all ranks (Charikar, Chen, Farach-Colton: Finding frequent items in data
  /// streams, 2002). The estimate of a row is its cell of an element, times the sign. An element that is in the map
  /// becomes the estimate of all rows, scaled. All others become 0. The cells are f64 if the elements are, else f32.
  /// With a residual, `own_table` has brought to the estimate what the same rows estimate from it.
  virtual void decode_sketch(const SketchShape& shape, const Decoding& with, Target out) const = 0;
  /// Finds the values of the blocks of the map in the sum of the sketches of all ranks (Goodrich, Mitzenmacher:
  /// Invertible Bloom lookup tables, 2011; the map tells which blocks lie in a bucket). A bucket that holds one block
  /// tells its value. It is written to `out`, scaled, and taken out of the block's other buckets, so that further
  /// buckets hold one. Blocks that are not in the map become 0. Blocks that could not be peeled stay as they are, and
  /// `left` has their bits. The cells are i64 for integers, whose values are exact, and f64 for all other data. A cell
  /// that holds an infinity or a NaN tells no value. Takes all dtypes, and changes the table.
  virtual void peel_sketch(const SketchShape& shape, const Peeling& with, Target table, Target out,
                           Peeled* peeled) const = 0;
};

/// The best of lacuna's own loops that this processor runs. The first call may load a library. Thread rule: any thread.
const Backend& best_backend();

/// A backend with a name that LACUNA_KERNELS may give.
struct KernelsHere {
  std::string name;
  std::string problem;  ///< says in a few words why they can't be used here; empty if they can
};

/// All backends that lacuna knows on this architecture. Nothing is loaded. Thread rule: any thread.
std::vector<KernelsHere> kernels_here();

/// The backend with this name: "host" for the best one that this processor runs; "x86-64", "x86-64-v3" or "x86-64-v4"
/// for the one of that instruction set; or "kokkos". Its library is loaded. An error says why it can't be used.
/// Thread rule: any thread.
Result<const Backend*> backend_named(std::string_view name);

/// Says why "host" does not give the best kernels that this processor could run. Empty if it does. Thread rule: any
/// thread.
std::string better_but_missing();

/// Returns the entries of a message. The message must be one of the range number `segment`, which has `length` places,
/// of this dtype, and exactly as long as its header says. An error says in a few words what is wrong. This looks only
/// at the header and the length of the message, by the backend `on`. index() checks its places.
Result<EntriesView> view_of(const Backend& on, std::span<const std::byte> message, Dtype dtype, std::size_t segment,
                            std::size_t length);

}  // namespace lacuna::kernels
