#pragma once

#include <Kokkos_Macros.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/backend.hpp"
#include "kernels/bits.hpp"
#include "kernels/elements.hpp"
#include "kernels/reduce.hpp"
#include "kernels/space.hpp"

/// What the kernels of selection share: magnitudes, which struct Cut explains, and a quick way to find the few elements
/// that matter.
namespace lacuna::kernels {

/// The magnitudes of an array's elements.
template <class T>
struct Magnitudes {
  using Bits = typename FloatBits<T>::Bits;
  static constexpr Bits most = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);

  const std::byte* data;
  std::size_t count;

  KOKKOS_INLINE_FUNCTION Bits operator[](std::size_t i) const { return static_cast<Bits>(load<Bits>(data, i) & most); }
};

/// A Cut in the bits of T.
template <class T>
struct CutBits {
  using Bits = typename FloatBits<T>::Bits;
  static constexpr Bits most = Magnitudes<T>::most;

  Bits above;
  std::uint64_t ties;

  KOKKOS_INLINE_FUNCTION explicit CutBits(const Cut& cut)
      : above(cut.above > most ? most : static_cast<Bits>(cut.above)),
        ties(cut.above == 0 || cut.above > most ? 0 : cut.ties) {}

  /// Elements that are taken have a larger magnitude than this, once so many ties have been seen.
  KOKKOS_INLINE_FUNCTION Bits floor(std::uint64_t seen) const {
    return seen < ties ? static_cast<Bits>(above - 1) : above;
  }
};

/// How many elements a cut has met, in one number that any scan can carry: the lower half counts the elements above the
/// cut, the upper half its ties. So arrays must have fewer than 2^32 elements.
struct Met {
  static constexpr std::uint64_t one_above = 1, one_tie = std::uint64_t{1} << 32;

  KOKKOS_INLINE_FUNCTION static std::uint64_t above(std::uint64_t met) { return met & 0xffffffffu; }
  KOKKOS_INLINE_FUNCTION static std::uint64_t ties(std::uint64_t met) { return met >> 32; }
  /// How many of these elements are taken, if the cut takes so many ties.
  KOKKOS_INLINE_FUNCTION static std::uint64_t taken(std::uint64_t met, std::uint64_t ties) {
    return above(met) + (Met::ties(met) < ties ? Met::ties(met) : ties);
  }
};

/// The number of elements of a stretch, which one call of a functor works through.
inline constexpr std::size_t stretch = Space::stretch;
/// How many stretches an array of so many elements has.
KOKKOS_INLINE_FUNCTION constexpr std::size_t stretches_of(std::size_t count) { return (count + stretch - 1) / stretch; }
KOKKOS_INLINE_FUNCTION std::size_t stretch_length(std::size_t first, std::size_t count) {
  return count - first < stretch ? count - first : stretch;
}

/// The magnitudes of a stretch, which the call of a functor with this number works through. It reads them where they
/// are.
template <class T>
class StretchInPlace {
 public:
  using Bits = typename FloatBits<T>::Bits;

  KOKKOS_INLINE_FUNCTION StretchInPlace(const Magnitudes<T>& from, std::size_t number)
      : from_(from), first_(number * stretch), length_(stretch_length(first_, from.count)) {}

  KOKKOS_INLINE_FUNCTION std::size_t first() const { return first_; }
  KOKKOS_INLINE_FUNCTION std::size_t length() const { return length_; }
  KOKKOS_INLINE_FUNCTION Bits operator[](std::size_t j) const { return from_[first_ + j]; }
  /// Calls visit(magnitude) for each.
  template <class Visit>
  KOKKOS_INLINE_FUNCTION void each(const Visit& visit) const {
    for (std::size_t j = 0; j < length_; ++j) visit(from_[first_ + j]);
  }

 private:
  Magnitudes<T> from_;
  std::size_t first_, length_;
};

/// The same for the short stretches of a device. It first reads all of them at once, 16 bytes at a time if the array is
/// aligned. Only loops that the compiler unrolls should use the index, so that the magnitudes stay in registers.
template <class T>
class StretchInRegisters {
 public:
  using Bits = typename FloatBits<T>::Bits;

  KOKKOS_INLINE_FUNCTION StretchInRegisters(const Magnitudes<T>& from, std::size_t number)
      : first_(number * stretch), length_(stretch_length(first_, from.count)) {
    const std::byte* const begin = from.data + first_ * sizeof(T);
    if (length_ == stretch && reinterpret_cast<std::uintptr_t>(begin) % sizeof(Words) == 0) {
      const auto* const words = reinterpret_cast<const Words*>(begin);
      for (std::size_t i = 0; i < words_of_stretch; ++i) {
        const Words some = words[i];
        memcpy(reinterpret_cast<std::byte*>(all_) + i * sizeof(Words), &some, sizeof(Words));
      }
      for (std::size_t j = 0; j < stretch; ++j) all_[j] = static_cast<Bits>(all_[j] & Magnitudes<T>::most);
    } else {
      for (std::size_t j = 0; j < stretch; ++j) all_[j] = j < length_ ? from[first_ + j] : Bits{0};
    }
  }

  KOKKOS_INLINE_FUNCTION std::size_t first() const { return first_; }
  KOKKOS_INLINE_FUNCTION std::size_t length() const { return length_; }
  KOKKOS_INLINE_FUNCTION Bits operator[](std::size_t j) const { return all_[j]; }
  template <class Visit>
  KOKKOS_INLINE_FUNCTION void each(const Visit& visit) const {
    for (std::size_t j = 0; j < stretch; ++j) {
      if (j < length_) visit(all_[j]);
    }
  }

 private:
  struct alignas(16) Words {
    std::uint32_t words[4];
  };
  static constexpr std::size_t words_of_stretch = stretch * sizeof(Bits) / sizeof(Words);
  static_assert(stretch > 64 || stretch * sizeof(Bits) % sizeof(Words) == 0);

  std::size_t first_, length_;
  Bits all_[stretch];
};

template <class T>
using Stretch = std::conditional_t<stretch <= 64, StretchInRegisters<T>, StretchInPlace<T>>;

/// The few elements of a stretch that pass a test. A loop that vectorises tests all of them, and writes a byte for
/// each. Eight bytes are a word. The words that are not zero are then listed without a branch, which no processor could
/// predict.
class FlaggedHits {
 public:
  /// Calls test(i) for i in [0, count). `count` is at most a stretch.
  template <class Test>
  KOKKOS_INLINE_FUNCTION FlaggedHits(std::size_t count, const Test& test) {
    for (std::size_t i = 0; i < count; ++i) flags_[i] = static_cast<std::uint8_t>(test(i));
    const std::size_t words = (count + 7) / 8;
    for (std::size_t i = count; i < 8 * words; ++i) flags_[i] = 0;
    for (std::size_t word = 0; word < words; ++word) {
      listed_[words_] = static_cast<std::uint8_t>(word);
      words_ += load(word) != 0 ? 1u : 0u;
    }
  }

  /// Are there so many hits that a loop over the whole stretch is faster than each()?
  KOKKOS_INLINE_FUNCTION bool are_many(std::size_t count) const { return 8 * words_ > count / 4 * 3; }

  /// Calls visit(i) for each hit, in order.
  template <class Visit>
  KOKKOS_INLINE_FUNCTION void each(const Visit& visit) const {
    for (std::size_t at = 0; at < words_; ++at) {
      for (std::uint64_t word = load(listed_[at]); word != 0; word &= word - 1) {
        visit(8 * std::size_t{listed_[at]} + first_byte(word));
      }
    }
  }

 private:
  static constexpr std::uint64_t ones = 0x0101010101010101u;

  KOKKOS_INLINE_FUNCTION std::uint64_t load(std::size_t word) const {
    std::uint64_t value;
    memcpy(&value, flags_ + 8 * word, sizeof(value));
    return value;
  }
  /// The number of the lowest byte that is not zero. As many bytes are below it.
  KOKKOS_INLINE_FUNCTION static std::size_t first_byte(std::uint64_t word) {
    const std::uint64_t below = (word & (~word + 1)) - 1;
    return static_cast<std::size_t>(((below & ones) * ones) >> 56);
  }

  static_assert(stretch % 8 == 0 && stretch <= 8 * 256);
  alignas(8) std::uint8_t flags_[stretch];
  std::uint8_t listed_[stretch / 8];
  std::size_t words_ = 0;
};

/// The same for the short stretches of a device, with a bit for each element.
class BitHits {
 public:
  template <class Test>
  KOKKOS_INLINE_FUNCTION BitHits(std::size_t count, const Test& test) {
    for (std::size_t i = 0; i < stretch; ++i) {
      if (i < count && test(i)) hits_ |= std::uint64_t{1} << i;
    }
  }
  KOKKOS_INLINE_FUNCTION bool are_many(std::size_t /*count*/) const { return false; }
  template <class Visit>
  KOKKOS_INLINE_FUNCTION void each(const Visit& visit) const {
    for_each_one(hits_, 0, visit);
  }

 private:
  std::uint64_t hits_ = 0;
};

using Hits = std::conditional_t<stretch <= 64, BitHits, FlaggedHits>;

}  // namespace lacuna::kernels
