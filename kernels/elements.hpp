#pragma once

#include <Kokkos_Macros.hpp>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/values/dtype.hpp"
#include "runtime/values/float16.hpp"
#include "runtime/values/located.hpp"

/// The type of the elements of each Dtype, and how elements are read, written and computed with.
namespace lacuna::kernels {

#ifdef LACUNA_KERNELS_ON_DEVICE
/// Copies an element. A device reads or writes it by one instruction if its address suits the type, which the compiler
/// does not know; else by one for each byte.
template <class T>
KOKKOS_INLINE_FUNCTION void copy_element(void* to, const void* from, const std::byte* array) {
  if (reinterpret_cast<std::uintptr_t>(array) % alignof(T) == 0) {
    memcpy(__builtin_assume_aligned(to, alignof(T)), __builtin_assume_aligned(from, alignof(T)), sizeof(T));
  } else {
    memcpy(to, from, sizeof(T));
  }
}
#else
template <class T>
void copy_element(void* to, const void* from, const std::byte* /*array*/) {
  memcpy(to, from, sizeof(T));
}
#endif

/// Element i of an array of T that may lie at any address.
template <class T>
KOKKOS_INLINE_FUNCTION T load(const std::byte* array, std::size_t i) {
  T value;
  copy_element<T>(&value, array + i * sizeof(T), array);
  return value;
}

template <class T>
KOKKOS_INLINE_FUNCTION void store(std::byte* array, std::size_t i, T value) {
  copy_element<T>(array + i * sizeof(T), &value, array);
}

template <class T>
inline constexpr bool is_integer_element = std::is_integral_v<T>;

/// Turns an element into the type in which it is computed: float, double, or for integers an unsigned type that wraps
/// around.
KOKKOS_INLINE_FUNCTION float widen(float value) { return value; }
KOKKOS_INLINE_FUNCTION double widen(double value) { return value; }
KOKKOS_INLINE_FUNCTION float widen(bf16 value) { return to_float(value); }
KOKKOS_INLINE_FUNCTION float widen(f16 value) { return to_float(value); }
template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
KOKKOS_INLINE_FUNCTION auto widen(T value) {
  return static_cast<std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>(value);
}

/// The type in which elements of T are computed.
template <class T>
using WideOf = decltype(widen(T()));

/// Turns a computed value into an element. It is rounded to nearest, ties to even. Integers keep their low bits.
template <class T, class Wide>
KOKKOS_INLINE_FUNCTION T narrow(Wide value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return to_bf16(value);
  } else if constexpr (std::is_same_v<T, f16>) {
    return to_f16(value);
  } else {
    return static_cast<T>(value);
  }
}

/// Names an element type to a visitor.
template <class T>
struct Element {};

/// Calls visit(Element<T>()), with the type T of this dtype's elements, if these are of a kind that `takes(kind)`
/// allows. For others it does nothing, and `visit` need not compile with them. This is the only switch over dtypes. It
/// stands outside of the loops, which the visitor has.
template <class Takes, class Visit>
void with_element_of(Dtype dtype, Takes, const Visit& visit) {
  switch (dtype) {
#define LACUNA_DTYPE(enumerator, number, name, bytes, holds, type)            \
  case Dtype::enumerator:                                                     \
    if constexpr (Takes()(ElementKind::holds)) return visit(Element<type>()); \
    break;
#include "runtime/values/dtypes.def"
#undef LACUNA_DTYPE
  }
}

/// Calls visit(Element<T>()) if the elements are real numbers: float, double, bf16, f16 or an integer of the same size.
///
///     with_element(dtype, [&]<class T>(Element<T>) { dispatch(count, SomeKernel<T>{out, in}); });
template <class Visit>
void with_element(Dtype dtype, const Visit& visit) {
  with_element_of(
      dtype, [](ElementKind kind) { return kind == ElementKind::Floating || kind == ElementKind::Integer; }, visit);
}

/// Calls visit(Element<T>()) if the elements are floating-point. For integers it does nothing, and `visit` need not
/// compile with them.
template <class Visit>
void with_floating_element(Dtype dtype, const Visit& visit) {
  with_element_of(
      dtype, [](ElementKind kind) { return kind == ElementKind::Floating; }, visit);
}

/// Calls visit(T()) with the unsigned integer of so many bytes, or with the longest one if there is none.
template <class Visit>
void with_word(std::size_t bytes, const Visit& visit) {
  if (bytes == 1) return visit(std::uint8_t{});
  if (bytes == 2) return visit(std::uint16_t{});
  if (bytes == 4) return visit(std::uint32_t{});
  visit(std::uint64_t{});
}

/// The largest magnitude of a floating-point element (kernels::Cut) whose number is at most `number`, which must not be
/// below 0. It runs on the host.
std::uint64_t magnitude_of(Dtype dtype, double number);
/// The number for which a magnitude stands. It runs on the host.
double number_of_magnitude(Dtype dtype, std::uint64_t magnitude);

/// Element i of an array of real numbers, as a number. It runs on the host.
double load_number(Dtype dtype, const std::byte* array, std::size_t i);

}  // namespace lacuna::kernels
