#include "kernels/fold.hpp"
#include "kernels/magnitudes.hpp"
#include "kernels/space_backend.hpp"
#include "runtime/values/region.hpp"

namespace lacuna::kernels {
namespace {

/// Returns an element as load_number() reads it, or as a float if a float can hold it exactly.
template <class T>
KOKKOS_INLINE_FUNCTION auto number_of(T value) {
  if constexpr (is_integer_element<T>) {
    return static_cast<double>(value);
  } else {
    return widen(value);
  }
}

/// What one element adds to each sum of Comparison.
struct Distance {
  KOKKOS_INLINE_FUNCTION static double of(double a, double b) { return (b - a) * (b - a); }
};
struct SquareOfA {
  KOKKOS_INLINE_FUNCTION static double of(double a, double) { return a * a; }
};
struct SquareOfB {
  KOKKOS_INLINE_FUNCTION static double of(double, double b) { return b * b; }
};
struct Product {
  KOKKOS_INLINE_FUNCTION static double of(double a, double b) { return a * b; }
};

template <class T, class Term>
struct Compared {
  const std::byte* a;
  const std::byte* b;

  KOKKOS_INLINE_FUNCTION double operator()(std::size_t i) const {
    return Term::of(widen(load<T>(a, i)), widen(load<T>(b, i)));
  }
  KOKKOS_INLINE_FUNCTION static double join(double x, double y) { return x + y; }
};

template <class T>
struct StrideKernel {
  static constexpr unsigned bits_left_out = sizeof(T) == sizeof(double) ? 32 : 0;

  Magnitudes<T> from;
  std::size_t stride;
  std::uint32_t* to;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    to[i] = static_cast<std::uint32_t>(std::uint64_t{from[i * stride]} >> bits_left_out);
  }
};

/// Each call of this functor counts some elements of a sample.
template <class T>
struct CountMagnitudes {
  static constexpr std::size_t share = 1024;
  static constexpr unsigned bits_left_out = 21;

  const std::byte* from;
  std::size_t count;
  std::size_t samples;
  std::uint32_t* bins;

  KOKKOS_INLINE_FUNCTION void operator()(const Space::Team& team) const {
    const std::size_t first = team.number() * share, left = samples - first;
    team.each(left < share ? left : share, [&](std::size_t i) {
      const auto number = static_cast<float>(number_of(load<T>(from, boundary(first + i, count, samples))));
      const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(number) & Magnitudes<float>::most;
      Space::Team::add(&bins[magnitude >> bits_left_out], std::uint32_t{1});
    });
  }
};
static_assert(Magnitudes<float>::most >> CountMagnitudes<float>::bits_left_out == Backend::magnitude_bins - 1);

}  // namespace

void SpaceBackend::compare(Source a, const std::byte* b, Comparison* sums) const {
  with_floating_element(a.dtype, [&]<class T>(Element<T>) {
    fold(Compared<T, Distance>{a.data, b}, a.count, &sums->distance);
    fold(Compared<T, SquareOfA>{a.data, b}, a.count, &sums->a_squares);
    fold(Compared<T, SquareOfB>{a.data, b}, a.count, &sums->b_squares);
    fold(Compared<T, Product>{a.data, b}, a.count, &sums->products);
  });
}

void SpaceBackend::sample_magnitudes(Source from, std::size_t stride, std::span<std::uint32_t> to) const {
  with_floating_element(from.dtype, [&]<class T>(Element<T>) {
    Space::for_each(to.size(), StrideKernel<T>{{from.data, from.count}, stride, to.data()});
  });
}

void SpaceBackend::count_magnitudes(Source from, std::size_t samples, std::uint32_t* bins) const {
  with_element(from.dtype, [&]<class T>(Element<T>) {
    using Kernel = CountMagnitudes<T>;
    const std::size_t teams = (samples + Kernel::share - 1) / Kernel::share;
    Space::for_teams(teams, 0, Kernel{from.data, from.count, samples, bins});
  });
}

}  // namespace lacuna::kernels
