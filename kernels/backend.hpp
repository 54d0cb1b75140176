#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/entries.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/sampler.hpp"
#include "runtime/values/scale.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::kernels {

/// Elements that are read. At any address.
struct Source {
  Dtype dtype = Dtype::F32;
  const std::byte* data = nullptr;
  std::size_t count = 0;
};

/// Elements that are written. At any address.
struct Target {
  Dtype dtype = Dtype::F32;
  std::byte* data = nullptr;
  std::size_t count = 0;
};

/// Which elements of an array are taken, by their magnitudes: the bits of an element without its sign, as a whole
/// number. They order as absolute values do; denormals count, infinity is above all numbers, and a NaN above infinity,
/// so that none is hidden. A zero of either sign is never taken: it adds nothing.
struct Cut {
  std::uint64_t above = 0;  ///< all whose magnitude is above this
  std::uint64_t ties = 0;   ///< and the first so many of those whose magnitude is just this
};

/// By what the input and the velocity are multiplied; see Backend::feed_back.
struct FeedBack {
  double factor = 1;    ///< of the input: clipping
  double second = 1;    ///< a second factor of the input: the product of both may be too small for any number
  double momentum = 0;  ///< with a velocity
};

/// All that lacuna computes on the elements of buffers, by one kind of loop. Dtypes are floating-point but for reduce
/// and copy. Nothing allocates, fences, or throws; results that later kernels read go to memory, not through a return
/// value. Any thread, several at the same time.
class Backend {
 public:
  virtual ~Backend() = default;
  /// The instruction set, such as "x86-64-v3" ("host" where there is one only), or "kokkos" with its version and
  /// execution space.
  virtual std::string_view name() const = 0;

  // Whole arrays.

  /// out[i] = round((a[i] op b[i]) scaled) for i in [0, out.count). The operation and the scaling are carried out in
  /// the accumulation type (f32 for f32 and the 16-bit types, f64 for f64), then rounded once to the dtype. Integers
  /// wrap and are not scaled. Avg is Sum: the scale carries the rest. Min and Max are IEEE 754-2019 minimum and
  /// maximum: NaN wins over numbers, -0 < +0. `out` is `a`, `b` or both, or disjoint from them.
  virtual void reduce(Reduction reduction, Scale scale, Target out, const std::byte* a, const std::byte* b) const = 0;
  /// out[i] = round(in[i] scaled), in the accumulation type; with a scale of one, and for integers, a copy. `out` and
  /// `in` are the same or disjoint; for a copy they may also overlap.
  virtual void copy(Scale scale, Target out, const std::byte* in) const = 0;
  /// *sum = the sum of all elements, each times `scale`, to this power, 1 or 2, in f64. The order of the additions
  /// depends on the count only.
  virtual void sum_of_powers(Source from, int power, double scale, double* sum) const = 0;
  /// residual[i] += added[i], where added[i] = second * (factor * input[i]). With a velocity, velocity[i] = momentum *
  /// velocity[i] + added[i], and the residual adds that instead (Lin, Han, Mao, Wang, Dally: Deep gradient compression,
  /// 2018, equations 4 and 5). Residual and velocity are rounded to the dtype. `velocity` may be null.
  virtual void feed_back(const FeedBack& by, Target residual, std::byte* velocity, const std::byte* input) const = 0;

  // Selection, in arrays of fewer than 2^32 elements. `workspace` has workspace_bytes(), and is aligned as a u64.

  static constexpr std::size_t workspace_bytes() { return 64 * 1024; }
  /// Elements of an array that one call may well take, so that the next one finds them in a cache.
  virtual std::size_t elements_in_cache() const = 0;
  /// *cut takes exactly the k largest magnitudes, of equal ones the first; all that are not zero, where these are no
  /// more than k. `cut->above` may be any number that does this. By a radix select on the bits, of at most 3 passes
  /// over f32, 6 over f64 and 2 over 16 bits; a sample of a large array gives bounds to begin with, which save passes,
  /// and cost one where they are wrong.
  virtual void largest(Source from, std::uint64_t k, std::byte* workspace, Cut* cut) const = 0;
  /// *cut takes about the k largest: exactly those of `samples` elements, drawn by bounded_draw(sampler, part 0 ..)
  /// with repetition, that are the share k / from.count of them, rounded, and no less than one; a tie among these
  /// stands for from.count / samples ties. `room` holds so many elements of the dtype.
  virtual void estimate(Source from, std::uint64_t k, std::size_t samples, const Sampler& sampler, std::byte* room,
                        std::byte* workspace, Cut* cut) const = 0;
  /// *count = how many the cut takes.
  virtual void count(Source from, const Cut* cut, std::uint64_t* count) const = 0;
  /// Appends what the cut takes, in order, as the entries *taken, *taken + 1 ... of `to`; one pass. Then *taken counts
  /// them too, also those for which there was no room. The ties are counted from the start of `from`.
  virtual void compact(Source from, const Cut* cut, EntriesList to, std::uint64_t* taken) const = 0;
  /// Of `entries` that are a list, those whose values the cut takes become `kept`, and *taken counts them; the others
  /// are added to rest[place - entries.base], each rounded to the dtype, which is the values' too, or let go if that is
  /// null. `kept` is another list; what it has no room for is neither kept nor added.
  virtual void keep(const EntriesView& entries, const Cut* cut, EntriesList kept, Target rest,
                    std::uint64_t* taken) const = 0;

  // Lists of places.

  /// bins[places[i] * bins / length] += 1, in 64-bit arithmetic: bin b of B holds the places from ceil(b length / B)
  /// on. Places are strictly increasing. skews[b] += by how many, rounded up, the entries of bin b that lie before any
  /// border within it differ at most from what lay there if they were evenly spread. There are as many skews as bins,
  /// and a bin has at most 2^31 places.
  virtual void histogram(std::span<const std::uint32_t> places, std::size_t length, std::span<std::int64_t> bins,
                         std::span<std::int64_t> skews) const = 0;
  /// to[places[i]] = 0. Places are different and below to.count, here and below.
  virtual void clear_at(std::span<const std::uint32_t> places, Target to) const = 0;
  /// to[places[i]] += values[i], rounded to the dtype.
  virtual void add_at(std::span<const std::uint32_t> places, const std::byte* values, Target to) const = 0;
  /// to[i] = from[places[i]].
  virtual void gather(std::span<const std::uint32_t> places, Source from, std::byte* to) const = 0;

  /// The entries of a list whose places may stand in any order, and several times: in `to` they ascend, and the values
  /// of one place are added in their order, each time rounded to the dtype. *taken counts them; *sound = 0 if a place
  /// is not below `length`, which then is left out, else 1. `to` and `spare` have room for all entries of the list.
  virtual void sort(Dtype dtype, const EntriesView& list, std::size_t length, EntriesList to, EntriesList spare,
                    std::byte* workspace, std::uint64_t* taken, std::uint64_t* sound) const = 0;

  // Bitmaps: bit i of a map is bit i % 8 of its byte i / 8; bits beyond the length are 0.

  /// The bits of the places, counted from `base`, which lie in [base, base + length).
  virtual void pack_bits(std::span<const std::uint32_t> places, std::uint32_t base, std::size_t length,
                         std::byte* map) const = 0;
  /// The places of the map's bits, in order; *count counts them.
  virtual void unpack_bits(const std::byte* map, std::size_t length, std::uint32_t* places,
                           std::uint64_t* count) const = 0;
  /// before[b] = how many bits stand before block b of block_places, for b in [0, blocks_of(length)], the last one
  /// being the number of all.
  virtual void count_bits(const std::byte* map, std::size_t length, std::uint32_t* before) const = 0;

  // Messages.

  /// Writes header and body of a message, of header.entries entries of a list, whose places lie in [base, base +
  /// header.length); the format is the header's, and so is the dtype. `to` has message_bytes() of it.
  virtual void encode(const EntriesHeader& header, const EntriesView& list, std::byte* to) const = 0;
  /// What sum() needs to know of `view`, whose places lie in [0, length) from its base: before[b] = how many entries
  /// stand before block b, for b in [0, blocks_of(length)]. Trusts nothing: *sound = 1 if its places are strictly
  /// increasing, in range and as many as it says, else 0, and `before` then means nothing. Of Dense each place counts,
  /// and nothing can be wrong.
  virtual void index(const EntriesView& view, std::size_t length, std::uint32_t* before,
                     std::uint64_t* sound) const = 0;
  /// The most views that sum() and merge() take.
  static constexpr std::size_t most_views = 1024;
  /// out[i] = round((the sum of the values that views have at i) scaled), for i in [0, out.count): in the accumulation
  /// type, from +0 added in the order of the views, rounded once; 0 where there is none. `before[v]` is what index()
  /// wrote for view v, which it found sound. *entries += how many are not zero.
  virtual void sum(std::span<const EntriesView> views, const std::uint32_t* const* before, Scale scale, Target out,
                   std::uint64_t* entries) const = 0;
  /// Appends the entries of that sum over `length` places as compact() does: what is not zero of it after rounding, in
  /// order. A sum that cancels to zero is no entry. `room` holds merge_places elements of
  /// the dtype; or more, for fewer passes.
  virtual void merge(std::span<const EntriesView> views, const std::uint32_t* const* before, Scale scale,
                     std::size_t length, Target room, EntriesList to, std::uint64_t* taken) const = 0;
  /// More than the places that merge() then sums up at a time: it keeps account of them there, too.
  static constexpr std::size_t merge_places = 16 * block_places;
};

/// The one that computes for all of this process: the best that this processor runs, unless serve_by() chose another.
/// The first call may load a library. Any thread.
const Backend& backend();

/// Kernels by a name that LACUNA_KERNELS may give, and a few words that say why they can't be had here; empty if they
/// can.
struct KernelsHere {
  std::string name;
  std::string problem;
};

/// All kernels that lacuna knows on this architecture. Nothing is loaded. Any thread.
std::vector<KernelsHere> kernels_here();

/// Those of a name, whose library is loaded: "host", the best that this processor runs; "x86-64", "x86-64-v3" or
/// "x86-64-v4", those of that instruction set; or "kokkos". An error says why they can't be had. Any thread.
Result<const Backend*> backend_named(std::string_view name);

/// Why the best kernels that this processor could run are not those of "host"; empty if they are. Any thread.
std::string better_but_missing();

/// From now on it computes for all of this process; steps under way end where they began. Any thread.
Status serve_by(std::string_view name);

/// What a message holds, if it is one of `segment`, of so many places of the dtype, and just as long as its header
/// says; or what is wrong with it, in a few words. Only its header and length are looked at: index() checks its places.
Result<EntriesView> view_of(std::span<const std::byte> message, Dtype dtype, std::size_t segment, std::size_t length);

}  // namespace lacuna::kernels
