#pragma once

#include <Kokkos_Macros.hpp>
#include <cstddef>
#include <cstdint>

#include "kernels/magnitudes.hpp"

/// The search for the k-th largest magnitude: a radix select, with 11 bits in each pass. A pass counts how many
/// magnitudes lie in each of 2048 bins between two bounds. The bin that holds the k-th magnitude gives the bounds of
/// the next pass.
namespace lacuna::kernels {

inline constexpr unsigned digit_bits = 11;
inline constexpr std::size_t bins = std::size_t{1} << digit_bits;
/// Behind the bins stand counts of the magnitudes beyond the bounds. There are many, so that few threads meet at one.
inline constexpr std::size_t beyond_bins = 32;
inline constexpr std::size_t all_bins = bins + beyond_bins;

/// The state of a search: where the k-th magnitude is looked for.
struct Search {
  std::uint64_t low;     ///< the k-th magnitude is at least this, which is above 0, as a zero is never taken
  std::uint64_t span;    ///< the k-th magnitude is less than low + span
  std::uint64_t wanted;  ///< its number among the magnitudes between the bounds, where the largest has number 1
  std::uint32_t shift;   ///< a bin has 2^shift magnitudes
  bool guessed;          ///< the bounds are a guess, and `wanted` is its number among all magnitudes
  bool done;             ///< `cut` is the result
  Cut cut;

  /// Looks between these bounds.
  KOKKOS_INLINE_FUNCTION void bound(std::uint64_t from, std::uint64_t magnitudes, std::uint64_t rank) {
    low = from;
    span = magnitudes;
    wanted = rank;
    shift = 0;
    while ((span - 1) >> shift >= bins) ++shift;
  }
  KOKKOS_INLINE_FUNCTION void end(Cut result) {
    cut = result;
    done = true;
  }
};

/// The number of passes after which a search among all magnitudes of T has ended.
template <class T>
inline constexpr unsigned passes = (8 * sizeof(T) - 1 + digit_bits - 1) / digit_bits;

/// Begins a search among all magnitudes of T.
template <class T>
struct BeginKernel {
  Search* search;
  std::uint32_t* counts;
  std::uint64_t k;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    counts[i] = 0;
    if (i != 0) return;
    search->guessed = search->done = false;
    search->bound(1, Magnitudes<T>::most, k);
  }
};

/// Begins a search between the bounds that two searches in a sample have found.
template <class T>
struct GuessKernel {
  Search* search;
  const Search* lower;
  const Search* upper;  ///< null: there is no upper bound
  std::uint64_t k;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t) const {
    const std::uint64_t low = least_taken(lower->cut);
    const std::uint64_t high = upper != nullptr ? least_taken(upper->cut) : Magnitudes<T>::most;
    search->bound(low, high - low + 1, k);
    search->guessed = true;
  }

  KOKKOS_INLINE_FUNCTION static std::uint64_t least_taken(const Cut& cut) {
    return cut.ties != 0 ? cut.above : cut.above + 1;
  }
};

/// A pass over an array: counts[b] += how many magnitudes bin b holds.
template <class T>
struct PassKernel {
  using Bits = typename FloatBits<T>::Bits;
  using Team = Space::Team;
  static constexpr std::size_t copies = 2;  // of each bin; neighbours count in different ones, and need not wait
  static constexpr std::size_t unbinned = bins * copies;
  static constexpr std::size_t scratch_bytes = (unbinned + beyond_bins) * sizeof(std::uint32_t);
  static_assert(scratch_bytes <= Space::most_scratch);

  Magnitudes<T> from;
  const Search* search;
  std::uint32_t* counts;

  /// The number of elements for one team. They are many, because a team clears its bins and adds them up. In a large
  /// array there are Space::most_teams of them.
  KOKKOS_INLINE_FUNCTION static constexpr std::size_t share(std::size_t count) {
    const std::size_t least = 65536, even = (count + Space::most_teams - 1) / Space::most_teams;
    return stretches_of(even < least ? least : even) * stretch;
  }

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    if (search->done) return;
    auto* const local = team.template scratch<std::uint32_t>();
    team.each(unbinned + beyond_bins, [=](std::size_t bin) { local[bin] = 0; });
    team.barrier();
    const std::size_t begin = team.number() * share(from.count), left = from.count - begin;
    const std::size_t length = left < share(from.count) ? left : share(from.count);
    const PassKernel pass = *this;
    const Search by = *search;
    team.each(stretches_of(length), [=](std::size_t i) { pass.count_stretch(by, begin / stretch + i, local); });
    team.barrier();
    std::uint32_t* const total = counts;
    team.each(bins, [=](std::size_t bin) {
      std::uint32_t count = 0;
      for (std::size_t copy = 0; copy < copies; ++copy) count += local[bin * copies + copy];
      if (count != 0) Team::add(&total[bin], count);
    });
    team.each(beyond_bins, [=](std::size_t bin) { Team::add(&total[bins + bin], local[unbinned + bin]); });
  }

  KOKKOS_INLINE_FUNCTION void count_stretch(const Search& by, std::size_t number, std::uint32_t* local) const {
    const Magnitudes<T> magnitudes = from;
    const Stretch<T> all(magnitudes, number);
    const std::size_t first = all.first(), length = all.length();
    const Bits low = static_cast<Bits>(by.low), span = static_cast<Bits>(by.span);
    const Hits hits(length, [&](std::size_t j) { return static_cast<Bits>(all[j] - low) < span; });
    if (hits.are_many(length)) {
      count_all(by, first, length, local);
    } else {
      hits.each([=](std::size_t j) {
        const std::uint64_t bin = static_cast<Bits>(magnitudes[first + j] - low) >> by.shift;
        Team::add(&local[bin * copies], std::uint32_t{1});
      });
    }
    if (!by.guessed) return;
    const Bits high = static_cast<Bits>(low + (span - 1));
    Bits beyond = 0;
    all.each([&](Bits magnitude) { beyond = static_cast<Bits>(beyond + (magnitude > high ? 1 : 0)); });
    if (beyond != 0) Team::add(&local[unbinned + number % beyond_bins], static_cast<std::uint32_t>(beyond));
  }

  /// Counts all elements of a stretch, for one in which most lie between the bounds. The others add nothing.
  KOKKOS_INLINE_FUNCTION void count_all(const Search& by, std::size_t first, std::size_t length,
                                        std::uint32_t* local) const {
    for (std::size_t j = 0; j < length; ++j) {
      const std::uint64_t above_low = std::uint64_t{from[first + j]} - by.low;
      const bool is_between = above_low < by.span;
      const std::uint64_t bin = is_between ? (above_low >> by.shift) * copies + j % copies : unbinned;
      Team::add(&local[bin], std::uint32_t{is_between ? 1u : 0u});
    }
  }
};

/// Ends a pass: finds the bin of the k-th magnitude, and clears all counts for the next pass. One team does this.
template <class T>
struct NarrowKernel {
  using Team = Space::Team;
  static constexpr std::size_t chunk = 32, chunks = bins / chunk;
  static constexpr std::size_t scratch_bytes = (all_bins + chunks) * sizeof(std::uint32_t);

  Search* search;
  std::uint32_t* counts;
  std::uint64_t k;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    if (search->done) return;
    auto* const local = team.template scratch<std::uint32_t>();
    std::uint32_t* const total = counts;
    team.each(all_bins, [=](std::size_t bin) {
      local[bin] = total[bin];
      total[bin] = 0;
    });
    team.barrier();
    team.each(chunks, [=](std::size_t i) {
      std::uint32_t sum = 0;
      for (std::size_t bin = i * chunk; bin < (i + 1) * chunk; ++bin) sum += local[bin];
      local[all_bins + i] = sum;
    });
    team.barrier();
    const NarrowKernel narrow = *this;
    team.once([=] { narrow.descend(local); });
  }

  KOKKOS_INLINE_FUNCTION void descend(const std::uint32_t* local) const {
    std::uint64_t beyond = 0, between = 0;
    for (std::size_t bin = bins; search->guessed && bin < all_bins; ++bin) beyond += local[bin];
    for (std::size_t i = 0; i < chunks; ++i) between += local[all_bins + i];
    if (search->low == 1 && beyond + between <= search->wanted) return search->end({});  // takes all that are not zero
    if (beyond >= search->wanted || beyond + between < search->wanted) {
      search->guessed = false;
      return search->bound(1, Magnitudes<T>::most, k);
    }
    search->guessed = false;
    std::uint64_t wanted = search->wanted - beyond;
    std::size_t i = chunks - 1;
    for (; wanted > local[all_bins + i]; --i) wanted -= local[all_bins + i];
    std::size_t bin = (i + 1) * chunk - 1;
    for (; wanted > local[bin]; --bin) wanted -= local[bin];
    enter(bin, wanted, local[bin]);
  }

  /// Goes on in this bin, which has `count` magnitudes, and where the k-th magnitude has the number `wanted`. The last
  /// bin ends at the upper bound, because what lies behind that has been counted as beyond.
  KOKKOS_INLINE_FUNCTION void enter(std::uint64_t bin, std::uint64_t wanted, std::uint64_t count) const {
    const std::uint64_t low = search->low + (bin << search->shift);
    if (wanted == count) return search->end({.above = low - 1, .ties = 0});
    if (search->shift == 0) return search->end({.above = low, .ties = wanted});
    const std::uint64_t width = std::uint64_t{1} << search->shift, left = search->low + search->span - low;
    search->bound(low, width < left ? width : left, wanted);
  }
};

/// Runs the kernels of a search in an array.
template <class T>
struct Selection {
  Magnitudes<T> from;
  std::uint64_t k;  ///< in [1, from.count]
  Search* search;
  std::uint32_t* counts;  ///< all_bins counts

  void begin() const { Space::for_each(all_bins, BeginKernel<T>{search, counts, k}); }
  void pass() const {
    using Pass = PassKernel<T>;
    const std::size_t share = Pass::share(from.count);
    Space::for_teams((from.count + share - 1) / share, Pass::scratch_bytes, Pass{from, search, counts});
    using Narrow = NarrowKernel<T>;
    Space::for_teams(1, Narrow::scratch_bytes, Narrow{search, counts, k});
  }
  void run() const {
    begin();
    for (unsigned i = 0; i < passes<T>; ++i) pass();
  }
};

}  // namespace lacuna::kernels
