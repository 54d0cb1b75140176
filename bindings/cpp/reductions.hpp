#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "bindings/cpp/elements.hpp"
#include "runtime/values/own_reduction.hpp"

namespace lacuna {

/// How a call reduces: by one of lacuna's reductions, or by one of the program's own.
struct AnyReduction {
  AnyReduction(Reduction by = Reduction::Sum) : reduction(by) {}                // NOLINT: implicit by design
  AnyReduction(const OwnReduction& by) : reduction(Reduction::Own), own(by) {}  // NOLINT: implicit by design

  Reduction reduction;
  OwnReduction own{};
};

/// Makes a reduction of the program's own from a function object without captures, for elements of type T whose dtype
/// is opaque (DtypeOf). combine(a, b) returns the reduction of two elements. OwnFunction says what it may do, and `id`
/// tells it from others.
///
///     const OwnReduction merge = own_reduction<Moments>([](const Moments& a, const Moments& b) { ... }, 1);
///     Status done = world.call(allreduce(moments, merge));
template <class T, class Combine>
requires(Element<T>&& element_kind(DtypeOf<T>::value) == ElementKind::Opaque && std::is_empty_v<Combine>) OwnReduction
    own_reduction(Combine, std::uint64_t id) {
  const OwnFunction function = [](void*, const void* in, void* inout, std::size_t count) {
    const T* const a = static_cast<const T*>(in);
    T* const b = static_cast<T*>(inout);
    for (std::size_t i = 0; i < count; ++i) b[i] = Combine()(b[i], a[i]);
  };
  return {.function = function, .id = id};
}

}  // namespace lacuna
