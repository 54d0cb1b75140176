#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "runtime/values/dtype.hpp"
#include "tests/kernels/oracle.hpp"
#include "tests/support/configured_kernels.hpp"
#include "tests/support/messages.hpp"

/// Arrays to select from, as the bits of their elements, and which of them should be selected.
namespace lacuna::test {

/// The backend whose kernels are tested.
inline const kernels::Backend& tested() { return kernels_to_test(); }

using Elements = std::vector<std::uint64_t>;
using Random = std::mt19937_64;

inline std::uint64_t sign_of(Dtype dtype) { return std::uint64_t{1} << (8 * size_of(dtype) - 1); }

/// A random number that has the same bits on all machines if high - low is a power of two: then the product is exact,
/// so that nothing changes if the compiler fuses it with the sum. The distributions of the standard library do not
/// promise that.
inline double between(double low, double high, Random& random) {
  return low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
}

/// Draws element i of `count`.
using Draw = std::uint64_t (*)(Dtype dtype, std::size_t i, std::size_t count, Random& random);

inline std::uint64_t draw_uniform(Dtype dtype, std::size_t, std::size_t, Random& random) {
  return oracle::encode(dtype, between(-1, 1, random));
}
/// The distribution is nearly normal: the sum of twelve numbers has a deviation of 1.
inline std::uint64_t draw_normal(Dtype dtype, std::size_t, std::size_t, Random& random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += between(-0.5, 0.5, random);
  return oracle::encode(dtype, sum);
}
/// There are large elements in a tenth of the array.
inline std::uint64_t draw_clustered(Dtype dtype, std::size_t i, std::size_t count, Random& random) {
  const bool in_cluster = i >= count / 2 && i < count / 2 + count / 10;
  return oracle::encode(dtype, between(-1, 1, random) * (in_cluster ? 100 : 1));
}
inline std::uint64_t draw_equal(Dtype dtype, std::size_t, std::size_t, Random& random) {
  return oracle::encode(dtype, random() % 2 == 0 ? 1.5 : -1.5);
}
/// There are many ties, and many zeros of either sign.
inline std::uint64_t draw_few_values(Dtype dtype, std::size_t, std::size_t, Random& random) {
  return oracle::encode(dtype, static_cast<double>(random() % 4)) | (random() % 2 == 0 ? sign_of(dtype) : 0);
}
inline std::uint64_t draw_denormal(Dtype dtype, std::size_t, std::size_t, Random& random) {
  const std::uint64_t below_normal = dtype == Dtype::F32    ? 1u << 23
                                     : dtype == Dtype::F64  ? std::uint64_t{1} << 52
                                     : dtype == Dtype::BF16 ? 1u << 7
                                                            : 1u << 10;
  return random() % below_normal | (random() % 2 == 0 ? sign_of(dtype) : 0);
}
/// There are NaNs and infinities of either sign among all others: any bits are an element.
inline std::uint64_t draw_bits(Dtype dtype, std::size_t, std::size_t, Random& random) {
  const std::uint64_t sign = random() % 2 == 0 ? sign_of(dtype) : 0;
  const std::uint64_t infinity = oracle::encode(dtype, HUGE_VAL);
  switch (random() % 8) {
    case 0:
      return infinity | sign;
    case 1:
      return (infinity + 1 + random() % 100) | sign;
    case 2:
      return sign;
    default:
      return random() >> (64 - 8 * size_of(dtype));
  }
}
inline std::uint64_t draw_zero(Dtype dtype, std::size_t, std::size_t, Random& random) {
  return random() % 2 == 0 ? sign_of(dtype) : 0;
}
/// One element in a thousand is not zero.
inline std::uint64_t draw_sparse(Dtype dtype, std::size_t i, std::size_t count, Random& random) {
  return random() % 1000 == 0 ? draw_normal(dtype, i, count, random) : draw_zero(dtype, i, count, random);
}

inline constexpr std::array<std::pair<const char*, Draw>, 9> inputs = {{{"uniform", draw_uniform},
                                                                        {"normal", draw_normal},
                                                                        {"clustered", draw_clustered},
                                                                        {"equal", draw_equal},
                                                                        {"few values", draw_few_values},
                                                                        {"denormal", draw_denormal},
                                                                        {"any bits", draw_bits},
                                                                        {"zero", draw_zero},
                                                                        {"sparse", draw_sparse}}};

inline Elements drawn(Draw draw, Dtype dtype, std::size_t count) {
  Random random(count);
  Elements elements(count);
  for (std::size_t i = 0; i < count; ++i) elements[i] = draw(dtype, i, count, random);
  return elements;
}

/// Elements are ordered by this: NaNs are above all numbers and ordered by their bits, and numbers are ordered by their
/// absolute values.
struct Rank {
  std::uint64_t nan = 0;
  double number = 0;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};
inline Rank rank_of(Dtype dtype, std::uint64_t element) {
  const double number = std::fabs(oracle::decode(dtype, element));
  return std::isnan(number) ? Rank{element & ~sign_of(dtype), 0} : Rank{0, number};
}

/// The ranks of an array's elements, which tell which of them are the largest.
class Ranked {
 public:
  Ranked(Dtype dtype, const Elements& elements) {
    for (std::uint64_t element : elements) ranks_.push_back(rank_of(dtype, element));
    nonzeros_ = ranks_.size() - static_cast<std::size_t>(std::count(ranks_.begin(), ranks_.end(), zero));
  }
  /// Are these ascending places those of the k largest elements that are not zero, and of equal ones the first?
  bool are_largest(const std::vector<std::size_t>& places, std::uint64_t k) const {
    if (places.size() != std::min<std::uint64_t>(k, nonzeros_)) return false;
    if (places.empty()) return true;
    std::size_t last = places.front();  // the place of the least element that is taken
    for (std::size_t place : places) {
      if (ranks_[place] <= ranks_[last]) last = place;
    }
    auto next = places.begin();
    for (std::size_t place = 0; place < ranks_.size(); ++place) {
      if (next != places.end() && *next == place) {
        ++next;
      } else if (ranks_[place] > ranks_[last] || (ranks_[place] == ranks_[last] && place < last)) {
        return false;
      }
    }
    return next == places.end() && ranks_[last] != zero;
  }

 private:
  static constexpr Rank zero{};

  std::vector<Rank> ranks_;
  std::size_t nonzeros_ = 0;
};

/// The places of the elements that a cut takes, by its documentation.
inline std::vector<std::size_t> taken_places(Dtype dtype, const Elements& elements, const kernels::Cut& cut) {
  std::vector<std::size_t> places;
  std::uint64_t ties = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::uint64_t magnitude = elements[i] & ~sign_of(dtype);
    const bool takes_tie = magnitude == cut.above && magnitude != 0 && ties++ < cut.ties;
    if (magnitude > cut.above || takes_tie) places.push_back(i);
  }
  return places;
}

inline std::string name_of_dtype(const auto& info) { return std::string(to_string(info.param)); }

}  // namespace lacuna::test
