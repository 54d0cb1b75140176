#include "kernels/magnitudes.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

/// Adds the elements of a stretch of the array to a Met.
template <class T>
struct CountKernel {
  using Bits = typename FloatBits<T>::Bits;

  Magnitudes<T> from;
  const Cut* cut;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i, std::uint64_t& met) const {
    const Bits limit = CutBits<T>(*cut).above;
    Bits above = 0, ties = 0;
    Stretch<T>(from, i).each([&](Bits magnitude) {
      above = static_cast<Bits>(above + (magnitude > limit ? 1 : 0));
      ties = static_cast<Bits>(ties + (magnitude == limit ? 1 : 0));
    });
    met += above * Met::one_above + ties * Met::one_tie;
  }
};

/// Turns a Met into the number of elements that are taken.
template <class T>
struct TakenKernel {
  const Cut* cut;
  std::uint64_t* taken;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t) const { *taken = Met::taken(*taken, CutBits<T>(*cut).ties); }
};

/// Tells for the elements of a stretch, in order, which of them are taken and which entries they become.
template <class T>
struct Taking {
  using Bits = typename FloatBits<T>::Bits;

  CutBits<T> cut;
  std::uint64_t met;

  /// The entry that an element of this magnitude becomes, or `none`.
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  KOKKOS_INLINE_FUNCTION std::uint64_t entry_of(Bits magnitude) {
    const bool is_tie = magnitude == cut.above;
    const std::uint64_t entry = is_tie && Met::ties(met) >= cut.ties ? none : Met::taken(met, cut.ties);
    met += is_tie ? Met::one_tie : Met::one_above;
    return entry;
  }
};

/// Backend::compact for a stretch. The first stretch also counts the entries that were taken before.
template <class T>
struct CompactKernel {
  using Bits = typename FloatBits<T>::Bits;

  Magnitudes<T> from;
  const Cut* cut;
  EntriesList to;
  const std::uint64_t* taken;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i, std::uint64_t& met, bool final) const {
    Taking<T> taking{CutBits<T>(*cut), met + (i == 0 ? *taken : 0)};
    const Magnitudes<T> magnitudes = from;
    const EntriesList list = to;
    const Stretch<T> all(magnitudes, i);
    const std::size_t first = all.first();
    const Bits floor = taking.cut.floor(Met::ties(taking.met));
    const Hits hits(all.length(), [&](std::size_t j) { return all[j] > floor; });
    hits.each([&](std::size_t j) {
      const std::uint64_t entry = taking.entry_of(magnitudes[first + j]);
      if (!final || entry >= list.room) return;
      list.places[entry] = static_cast<std::uint32_t>(list.base + first + j);
      store<Bits>(list.values, entry, load<Bits>(magnitudes.data, first + j));
    });
    met = taking.met;
  }
};

/// Backend::keep for a stretch.
template <class T>
struct KeepKernel {
  using Bits = typename FloatBits<T>::Bits;

  EntriesView entries;
  const Cut* cut;
  EntriesList kept;
  std::byte* rest;
  WideOf<T> factor;  ///< of what goes to the rest

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i, std::uint64_t& met, bool final) const {
    Taking<T> taking{CutBits<T>(*cut), met};
    const Magnitudes<T> magnitudes{entries.values, entries.entries};
    const Bits floor = taking.cut.floor(Met::ties(met));
    const std::size_t first = i * stretch, end = first + stretch_length(first, magnitudes.count);
    for (std::size_t j = first; j < end; ++j) {
      const std::uint64_t entry = magnitudes[j] > floor ? taking.entry_of(magnitudes[j]) : Taking<T>::none;
      if (final) place(j, entry);
    }
    met = taking.met;
  }

  KOKKOS_INLINE_FUNCTION void place(std::size_t j, std::uint64_t entry) const {
    const auto at = load<std::uint32_t>(entries.places, j);
    if (entry == Taking<T>::none) {
      if (rest == nullptr) return;
      const std::size_t home = at - entries.base;
      store<T>(rest, home, narrow<T>(widen(load<T>(rest, home)) + factor * widen(load<T>(entries.values, j))));
    } else if (entry < kept.room) {
      kept.places[entry] = at;
      store<Bits>(kept.values, entry, load<Bits>(entries.values, j));
    }
  }
};

}  // namespace

void SpaceBackend::count(Source from, const Cut* cut, std::uint64_t* count) const {
  with_floating_element(from.dtype, [&]<class T>(Element<T>) {
    Space::reduce(stretches_of(from.count), CountKernel<T>{{from.data, from.count}, cut}, count);
    Space::for_each(1, TakenKernel<T>{cut, count});
  });
}

void SpaceBackend::compact(Source from, const Cut* cut, EntriesList to, std::uint64_t* taken) const {
  if (from.count == 0) return;
  with_floating_element(from.dtype, [&]<class T>(Element<T>) {
    Space::scan(stretches_of(from.count), CompactKernel<T>{{from.data, from.count}, cut, to, taken}, taken);
    Space::for_each(1, TakenKernel<T>{cut, taken});
  });
}

void SpaceBackend::keep(const EntriesView& entries, const Cut* cut, EntriesList kept, const Rest& rest,
                        std::uint64_t* taken) const {
  with_floating_element(rest.dtype, [&]<class T>(Element<T>) {
    const KeepKernel<T> kernel{entries, cut, kept, rest.data, static_cast<WideOf<T>>(rest.factor)};
    Space::scan(stretches_of(entries.entries), kernel, taken);
    Space::for_each(1, TakenKernel<T>{cut, taken});
  });
}

}  // namespace lacuna::kernels
