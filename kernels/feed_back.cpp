#include "kernels/elements.hpp"
#include "kernels/magnitudes.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

/// Adds the scaled elements of a stretch, or their squares, in several lanes. At the end of the stretch the lanes are
/// added up.
template <class T, bool squared>
struct PowersKernel {
  const std::byte* from;
  std::size_t count;
  double scale;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i, double& sum) const {
    constexpr std::size_t lanes = 16;
    const std::size_t first = i * stretch, length = stretch_length(first, count);
    double sums[lanes] = {};
    const std::size_t whole = length / lanes * lanes;
    for (std::size_t j = 0; j < whole; j += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += power(first + j + lane);
    }
    for (std::size_t j = whole; j < length; ++j) sums[j - whole] += power(first + j);
    double all = 0;
    for (double lane : sums) all += lane;
    sum += all;
  }

  KOKKOS_INLINE_FUNCTION double power(std::size_t i) const {
    const double value = scale * widen(load<T>(from, i));
    return squared ? value * value : value;
  }
};

/// Backend::feed_back for element i.
template <class T, bool has_velocity>
struct FeedBackKernel {
  using Wide = WideOf<T>;

  Wide factor;
  Wide second;
  Wide momentum;
  std::byte* residual;
  std::byte* velocity;
  const std::byte* input;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    Wide added = second * (factor * widen(load<T>(input, i)));
    if constexpr (has_velocity) {
      const T moved = narrow<T>(momentum * widen(load<T>(velocity, i)) + added);
      store<T>(velocity, i, moved);
      added = widen(moved);
    }
    store<T>(residual, i, narrow<T>(widen(load<T>(residual, i)) + added));
  }
};

template <class T>
void feed_back_as(const FeedBack& by, Target residual, std::byte* velocity, const std::byte* input) {
  using Wide = WideOf<T>;
  const auto factor = static_cast<Wide>(by.factor), second = static_cast<Wide>(by.second),
             momentum = static_cast<Wide>(by.momentum);
  if (velocity == nullptr) {
    Space::for_each(residual.count, FeedBackKernel<T, false>{factor, second, momentum, residual.data, velocity, input});
  } else {
    Space::for_each(residual.count, FeedBackKernel<T, true>{factor, second, momentum, residual.data, velocity, input});
  }
}

}  // namespace

void SpaceBackend::sum_of_powers(Source from, int power, double scale, double* sum) const {
  with_floating_element(from.dtype, [&]<class T>(Element<T>) {
    if (power == 1) {
      Space::reduce(stretches_of(from.count), PowersKernel<T, false>{from.data, from.count, scale}, sum);
    } else {
      Space::reduce(stretches_of(from.count), PowersKernel<T, true>{from.data, from.count, scale}, sum);
    }
  });
}

void SpaceBackend::feed_back(const FeedBack& by, Target residual, std::byte* velocity, const std::byte* input) const {
  with_floating_element(residual.dtype, [&]<class T>(Element<T>) { feed_back_as<T>(by, residual, velocity, input); });
}

}  // namespace lacuna::kernels
