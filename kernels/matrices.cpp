#include "kernels/matrices.hpp"

#include <Kokkos_Macros.hpp>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/elements.hpp"
#include "kernels/fold.hpp"
#include "kernels/reduce.hpp"
#include "kernels/space_backend.hpp"
#include "runtime/values/philox.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::size_t lanes = 16;            // partial sums of a row, so that the loop vectorises in a fixed order
constexpr std::size_t columns_at_once = 64;  // whose sums one call of a functor holds

/// Row i of the matrix times the vectors of the right factor.
template <class T>
struct RowKernel {
  MatrixShape shape;
  const std::byte* matrix;
  const std::byte* right;
  std::byte* left;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const std::size_t first = i * shape.columns, rows = shape.rows();
    const std::size_t length = lesser(shape.columns, shape.count - first), whole = length / lanes * lanes;
    for (std::size_t k = 0; k < shape.rank; ++k) {
      const std::size_t vector = k * shape.columns;
      T sums[lanes] = {};
      for (std::size_t j = 0; j < whole; j += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          sums[lane] += load<T>(matrix, first + j + lane) * load<T>(right, vector + j + lane);
        }
      }
      for (std::size_t j = whole; j < length; ++j) {
        sums[j - whole] += load<T>(matrix, first + j) * load<T>(right, vector + j);
      }
      T all{};
      for (T sum : sums) all += sum;
      store<T>(left, k * rows + i, all);
    }
  }

  KOKKOS_INLINE_FUNCTION static std::size_t lesser(std::size_t a, std::size_t b) { return a < b ? a : b; }
};

/// Some columns of the matrix times the vectors of the left factor. The rows are added in order.
template <class T>
struct ColumnsKernel {
  MatrixShape shape;
  const std::byte* matrix;
  const std::byte* left;
  std::byte* right;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t number) const {
    const std::size_t first = number * columns_at_once, rows = shape.rows();
    const std::size_t length = RowKernel<T>::lesser(columns_at_once, shape.columns - first);
    T sums[MatrixShape::most_rank][columns_at_once] = {};
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t begin = i * shape.columns + first;
      const std::size_t here = begin < shape.count ? RowKernel<T>::lesser(length, shape.count - begin) : 0;
      for (std::size_t k = 0; k < shape.rank; ++k) {
        const T factor = load<T>(left, k * rows + i);
        for (std::size_t j = 0; j < here; ++j) sums[k][j] += factor * load<T>(matrix, begin + j);
      }
    }
    for (std::size_t k = 0; k < shape.rank; ++k) {
      for (std::size_t j = 0; j < length; ++j) store<T>(right, k * shape.columns + first + j, sums[k][j]);
    }
  }
};

/// Row i of the product of both factors.
template <class T, ProductUse does>
struct ProductKernel {
  Factors by;
  std::byte* to;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const MatrixShape& shape = by.shape;
    const std::size_t first = i * shape.columns, rows = shape.rows();
    const std::size_t length = RowKernel<T>::lesser(shape.columns, shape.count - first);
    T factors[MatrixShape::most_rank] = {};
    for (std::size_t k = 0; k < shape.rank; ++k) factors[k] = static_cast<T>(by.scale) * load<T>(by.left, k * rows + i);
    for (std::size_t j = 0; j < length; ++j) {
      T product = factors[0] * load<T>(by.right, j);
      for (std::size_t k = 1; k < shape.rank; ++k) product += factors[k] * load<T>(by.right, k * shape.columns + j);
      if constexpr (does == ProductUse::Replaces) {
        store<T>(to, first + j, product);
      } else {
        store<T>(to, first + j, or_zero(load<T>(to, first + j) - product));
      }
    }
  }
};

/// The products of the elements of two vectors, which are added up.
template <class T>
struct Products {
  const std::byte* a;
  const std::byte* b;

  KOKKOS_INLINE_FUNCTION double operator()(std::size_t i) const {
    return static_cast<double>(load<T>(a, i)) * static_cast<double>(load<T>(b, i));
  }
  KOKKOS_INLINE_FUNCTION static double join(double x, double y) { return x + y; }
};

/// The magnitudes of the elements of a vector, of which the largest counts. That of a NaN is infinite.
template <class T>
struct ElementMagnitudes {
  const std::byte* of;

  KOKKOS_INLINE_FUNCTION double operator()(std::size_t i) const {
    const auto value = static_cast<double>(load<T>(of, i));
    return value - value == 0 ? (value < 0 ? -value : value) : std::numeric_limits<double>::infinity();
  }
  KOKKOS_INLINE_FUNCTION static double join(double x, double y) { return x < y ? y : x; }
};

/// Is this the largest magnitude of a vector that has a length?
KOKKOS_INLINE_FUNCTION bool has_length(double largest) { return largest > 0 && largest - largest == 0; }

/// Multiplies a vector that has a length by a power of two, so that no magnitude is above `most`, a power of two.
template <class T>
struct FitKernel {
  const double* largest;  ///< of the vector's magnitudes
  double most;
  std::byte* to;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const bool has = has_length(*largest);
    const double up = has && *largest < 0x1p-1022 ? 0x1p52 : 1;  // makes denormal numbers normal ones
    const double by = has ? inverse_of(*largest * up) : 1;
    store<T>(to, i, static_cast<T>(static_cast<double>(load<T>(to, i)) * up * by * (most / 4)));
  }

  /// A power of two whose product with the number is below 4.
  KOKKOS_INLINE_FUNCTION static double inverse_of(double number) {
    constexpr std::uint64_t bias = 1023, fraction = 52;
    const std::uint64_t exponent = std::bit_cast<std::uint64_t>(number) >> fraction;
    return std::bit_cast<double>((exponent < 2 * bias ? 2 * bias - exponent : 1) << fraction);
  }
};

/// to[i] -= *share * from[i]
template <class T>
struct SubtractKernel {
  const double* share;
  std::byte* to;
  const std::byte* from;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const double value = static_cast<double>(load<T>(to, i)) - *share * static_cast<double>(load<T>(from, i));
    store<T>(to, i, static_cast<T>(value));
  }
};

/// Makes a vector 1 long. What is left of a vector that is a combination of others is rounding error. It becomes 0, and
/// so does a vector without a length.
template <class T>
struct NormKernel {
  const double* before;  ///< the square of its length before the others' shares were taken away
  const double* after;
  std::byte* to;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    constexpr double least = sizeof(T) == 4 ? 1e-10 : 1e-24;
    const double square = *after;
    const bool is_lost = is_finite(square) && !(square > least * *before && square > 0);
    store<T>(to, i, is_lost ? T{} : static_cast<T>(1 / std::sqrt(square) * static_cast<double>(load<T>(to, i))));
  }

  KOKKOS_INLINE_FUNCTION static bool is_finite(double number) { return number - number == 0; }
};

/// A random number in (-1, 1), with a fraction of 24 bits at most, if the vector has no length.
template <class T>
struct DrawVectorKernel {
  RandomStream random;
  std::size_t vector;
  const double* largest;  ///< of the vector's magnitudes
  std::byte* to;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    if (has_length(*largest)) return;
    const std::array words =
        philox({static_cast<std::uint32_t>(random.draw), static_cast<std::uint32_t>(random.draw >> 32),
                static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(vector)},
               {static_cast<std::uint32_t>(random.key), static_cast<std::uint32_t>(random.key >> 32)});
    const auto odd = static_cast<std::int32_t>((words[0] >> 8) | 1u) - (std::int32_t{1} << 23);
    store<T>(to, i, static_cast<T>(odd) * static_cast<T>(0x1p-23));
  }
};

template <class T>
void dot(const std::byte* a, const std::byte* b, std::size_t count, double* sum) {
  fold(Products<T>{a, b}, count, sum);
}

/// Makes vector k orthogonal to those before it, and 1 long. It is scaled first, so that its square is a number.
template <class T>
void orthonormalize(std::byte* vectors, std::size_t length, std::size_t k, double* sums) {
  double *const before = &sums[0], *const share = &sums[1], *const after = &sums[2];
  std::byte* const own = vectors + k * length * sizeof(T);
  fold(ElementMagnitudes<T>{own}, length, before);
  Space::for_each(length, FitKernel<T>{before, 1, own});
  dot<T>(own, own, length, before);
  for (std::size_t l = 0; l < k; ++l) {
    const std::byte* const other = vectors + l * length * sizeof(T);
    dot<T>(own, other, length, share);
    Space::for_each(length, SubtractKernel<T>{share, own, other});
  }
  dot<T>(own, own, length, after);
  Space::for_each(length, NormKernel<T>{before, after, own});
}

}  // namespace

void SpaceBackend::multiply_by_right(const MatrixShape& shape, Source matrix, const std::byte* right,
                                     std::byte* left) const {
  with_number(matrix.dtype, [&]<class T>(Element<T>) {
    Space::for_each(shape.rows(), RowKernel<T>{shape, matrix.data, right, left});
  });
}

void SpaceBackend::multiply_by_left(const MatrixShape& shape, Source matrix, const std::byte* left,
                                    std::byte* right) const {
  with_number(matrix.dtype, [&]<class T>(Element<T>) {
    const std::size_t calls = (shape.columns + columns_at_once - 1) / columns_at_once;
    Space::for_each(calls, ColumnsKernel<T>{shape, matrix.data, left, right});
  });
}

void SpaceBackend::multiply_factors(const Factors& factors, ProductUse does, Target to) const {
  with_number(to.dtype, [&]<class T>(Element<T>) {
    if (does == ProductUse::Replaces) {
      Space::for_each(factors.shape.rows(), ProductKernel<T, ProductUse::Replaces>{factors, to.data});
    } else {
      Space::for_each(factors.shape.rows(), ProductKernel<T, ProductUse::Subtracts>{factors, to.data});
    }
  });
}

void SpaceBackend::orthonormalize(std::size_t vectors, Target factor, double* sums) const {
  with_number(factor.dtype, [&]<class T>(Element<T>) {
    for (std::size_t k = 0; k < vectors; ++k) {
      kernels::orthonormalize<T>(factor.data, factor.count / vectors, k, sums);
    }
  });
}

void SpaceBackend::draw_missing(std::size_t vectors, const RandomStream& random, double most, Target factor,
                                double* sums) const {
  with_number(factor.dtype, [&]<class T>(Element<T>) {
    const std::size_t length = factor.count / vectors;
    for (std::size_t k = 0; k < vectors; ++k) {
      std::byte* const own = factor.data + k * length * sizeof(T);
      fold(ElementMagnitudes<T>{own}, length, sums);
      Space::for_each(length, DrawVectorKernel<T>{random, k, sums, own});
      Space::for_each(length, FitKernel<T>{sums, most, own});
    }
  });
}

}  // namespace lacuna::kernels
