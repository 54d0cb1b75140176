#include "kernels/reduce.hpp"

#include <complex>

#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

struct Operands {
  std::byte* out;
  const std::byte* a;
  const std::byte* b;
  std::size_t count;
};

template <class T, class Operation>
void reduce_unscaled(const Operands& on) {
  Space::for_each(on.count, ReduceKernel<TakenAs<T, Operation>, Operation, false>{on.out, on.a, on.b});
}

template <class T, class Operation>
void reduce_by(Scale scale, const Operands& on) {
  using Wide = WideOf<T>;
  if constexpr (!is_integer_element<T>) {
    if (!scale.is_one()) {
      Space::for_each(on.count,
                      ReduceKernel<T, Operation, true>{on.out, on.a, on.b, static_cast<Wide>(scale.multiplier),
                                                       static_cast<Wide>(scale.divisor)});
      return;
    }
  }
  reduce_unscaled<T, Operation>(on);
}

template <class T>
void sum_up(const SumScale& scale, const Operands& on) {
  if constexpr (!is_integer_element<T>) {
    const WideSumScale<WideOf<T>> wide(scale);
    if (scale.scales_operands() && scale.sum.is_one())
      return Space::for_each(on.count, ScaledSumKernel<T, false>{on.out, on.a, on.b, wide});
    if (scale.scales_operands()) return Space::for_each(on.count, ScaledSumKernel<T, true>{on.out, on.a, on.b, wide});
  }
  reduce_by<T, SumOf>(scale.sum, on);
}

template <class T>
void reduce_as(Reduction reduction, const SumScale& scale, const Operands& on) {
  switch (reduction) {
    case Reduction::Sum:
    case Reduction::Avg:
      return sum_up<T>(scale, on);
    case Reduction::Min:
      return reduce_by<T, MinimumOf>(scale.sum, on);
    case Reduction::Max:
      return reduce_by<T, MaximumOf>(scale.sum, on);
    case Reduction::Prod:
      return reduce_by<T, ProductOf>(scale.sum, on);
    case Reduction::Own:
      break;  // the program computes it
  }
}

template <class T>
void reduce_complex(Element<std::complex<T>>, Reduction reduction, const Operands& on) {
  if (reduction == Reduction::Sum) return reduce_unscaled<ComplexElement<T>, SumOf>(on);
  if (reduction == Reduction::Prod) reduce_unscaled<ComplexElement<T>, ProductOf>(on);
}

template <class T>
void reduce_located(Element<Located<T>>, Reduction reduction, const Operands& on) {
  if (reduction == Reduction::Min) return reduce_unscaled<LocatedElement<T>, MinimumOf>(on);
  if (reduction == Reduction::Max) reduce_unscaled<LocatedElement<T>, MaximumOf>(on);
}

template <class T>
void scale_as(Scale scale, std::byte* out, const std::byte* in, std::size_t count) {
  using Wide = WideOf<T>;
  Space::for_each(count,
                  ScaleKernel<T>{out, in, static_cast<Wide>(scale.multiplier), static_cast<Wide>(scale.divisor)});
}

template <class T>
struct ClearKernel {
  std::byte* out;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const { store<T>(out, i, T{}); }
};

}  // namespace

void SpaceBackend::reduce(Reduction reduction, const SumScale& scale, const Target& out, const std::byte* a,
                          const std::byte* b) const {
  const Operands on{out.data, a, b, out.count};
  with_element(out.dtype, [&]<class T>(Element<T>) { reduce_as<T>(reduction, scale, on); });
  with_element_of(
      out.dtype, [](ElementKind kind) { return kind == ElementKind::Complex; },
      [&](auto element) { reduce_complex(element, reduction, on); });
  with_element_of(
      out.dtype, [](ElementKind kind) { return kind == ElementKind::Located; },
      [&](auto element) { reduce_located(element, reduction, on); });
}

void SpaceBackend::copy(Scale scale, const Target& out, const std::byte* in) const {
  if (scale.is_one() || !is_floating(out.dtype)) {
    if (out.data != in && out.count != 0) Space::move(out.data, in, out.count * size_of(out.dtype));
    return;
  }
  with_floating_element(out.dtype, [&]<class T>(Element<T>) { scale_as<T>(scale, out.data, in, out.count); });
}

void SpaceBackend::clear(const Target& out) const {
  const std::size_t bytes = out.count * size_of(out.dtype);
  with_word(size_of(out.dtype),
            [&]<class Word>(Word) { Space::for_each(bytes / sizeof(Word), ClearKernel<Word>{out.data}); });
}

}  // namespace lacuna::kernels
