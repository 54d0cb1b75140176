#include "kernels/elements.hpp"
#include "kernels/magnitudes.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

/// The squares of a stretch, in lanes that are added up at its end.
template <class T>
struct SquaresKernel {
  const std::byte* from;
  std::size_t count;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i, double& sum) const {
    constexpr std::size_t lanes = 16;
    const std::size_t first = i * stretch, length = stretch_length(first, count);
    double squares[lanes] = {};
    const std::size_t whole = length / lanes * lanes;
    for (std::size_t j = 0; j < whole; j += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) squares[lane] += square(first + j + lane);
    }
    for (std::size_t j = whole; j < length; ++j) squares[j - whole] += square(first + j);
    double all = 0;
    for (double lane : squares) all += lane;
    sum += all;
  }

  KOKKOS_INLINE_FUNCTION double square(std::size_t i) const {
    const double value = widen(load<T>(from, i));
    return value * value;
  }
};

/// Element i of Backend::feed_back.
template <class T, bool has_velocity>
struct FeedBackKernel {
  using Wide = WideOf<T>;

  Wide factor;
  Wide momentum;
  std::byte* residual;
  std::byte* velocity;
  const std::byte* input;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    Wide added = factor * widen(load<T>(input, i));
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
  const auto factor = static_cast<WideOf<T>>(by.factor), momentum = static_cast<WideOf<T>>(by.momentum);
  if (velocity == nullptr) {
    Space::for_each(residual.count, FeedBackKernel<T, false>{factor, momentum, residual.data, velocity, input});
  } else {
    Space::for_each(residual.count, FeedBackKernel<T, true>{factor, momentum, residual.data, velocity, input});
  }
}

}  // namespace

void SpaceBackend::sum_of_squares(Source from, double* sum) const {
  with_floating_element(from.dtype, [&]<class T>(Element<T>) {
    Space::reduce(stretches_of(from.count), SquaresKernel<T>{from.data, from.count}, sum);
  });
}

void SpaceBackend::feed_back(const FeedBack& by, Target residual, std::byte* velocity, const std::byte* input) const {
  with_floating_element(residual.dtype, [&]<class T>(Element<T>) { feed_back_as<T>(by, residual, velocity, input); });
}

}  // namespace lacuna::kernels
