#include <Kokkos_Macros.hpp>
#include <bit>
#include <type_traits>

#include "kernels/elements.hpp"
#include "kernels/reduce.hpp"
#include "kernels/space_backend.hpp"

namespace lacuna::kernels {
namespace {

/// The float that is nearest to zero among the two neighbours of a number, with its last bit set if it is not the
/// number itself. A further rounding to a type with 22 bits or fewer then gives what one rounding gives (Boldo,
/// Melquiond: When double rounding is odd, 2005). A NaN stays a NaN.
KOKKOS_INLINE_FUNCTION float rounded_to_odd(double value) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value), magnitude = bits & (~std::uint64_t{0} >> 1);
  const auto sign = static_cast<std::uint32_t>(bits >> 32) & 0x80000000u;
  constexpr std::uint64_t rebias = std::uint64_t{1023 - 127} << 52, overflow = std::uint64_t{1023 + 128} << 52;
  constexpr std::uint64_t infinity = std::uint64_t{2047} << 52, hidden = std::uint64_t{1} << 52;
  std::uint64_t units = magnitude - rebias;  // its upper 31 bits are those of the float
  std::uint64_t shift = 29;
  if (magnitude < rebias + hidden) {  // below the normal floats
    units = magnitude < hidden ? magnitude : (magnitude & (hidden - 1)) | hidden;
    shift = 29 + (rebias / hidden + 1 - magnitude / hidden);
    shift = shift > 63 ? 63 : shift;
  }
  const std::uint64_t is_inexact = (units & ((std::uint64_t{1} << shift) - 1)) != 0 ? 1 : 0;
  auto number = static_cast<std::uint32_t>(units >> shift | is_inexact);
  if (magnitude >= overflow)
    number = magnitude > infinity ? 0x7fc00000u : magnitude == infinity ? 0x7f800000u : 0x7f7fffffu;
  return std::bit_cast<float>(number | sign);
}

template <class To, class From>
KOKKOS_INLINE_FUNCTION To converted(From element) {
  if constexpr (std::is_same_v<To, From>) {
    return element;
  } else if constexpr (std::is_same_v<From, double> && sizeof(To) == 2) {
    return narrow<To>(rounded_to_odd(element));
  } else {
    return narrow<To>(widen(element));
  }
}

/// Converts element i, as Backend::convert says.
template <class To, class From, bool keeps>
struct ConvertKernel {
  std::byte* to;
  const std::byte* from;
  std::byte* rest;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const From element = load<From>(from, i);
    const To result = converted<To>(element);
    store<To>(to, i, result);
    if constexpr (keeps) {
      using Wide = decltype(widen(From()) - widen(To()));
      const Wide difference = static_cast<Wide>(widen(element)) - static_cast<Wide>(widen(result));
      store<From>(rest, i, converted<From>(or_zero(difference)));
    }
  }
};

/// Backend::accumulate for element i.
template <class T, class Term, class Operation>
struct AccumulateKernel {
  std::byte* sum;
  const std::byte* term;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    store<T>(sum, i, Operation::apply(load<T>(sum, i), static_cast<T>(widen(load<Term>(term, i)))));
  }
};

/// The same for a sum that is scaled.
template <class T, class Term>
struct AccumulateScaledKernel {
  std::byte* sum;
  const std::byte* term;
  WideSumScale<T> scale;

  KOKKOS_INLINE_FUNCTION void operator()(std::size_t i) const {
    const T x = load<T>(sum, i), y = static_cast<T>(widen(load<Term>(term, i)));
    store<T>(sum, i, scale.template apply<true>(x, y));
  }
};

template <class T, class Term>
void accumulate_as(Reduction reduction, const SumScale& scale, Target sum, const std::byte* term) {
  switch (reduction) {
    case Reduction::Sum:
    case Reduction::Avg:
      if (scale.scales_operands() || !scale.sum.is_one()) {
        return Space::for_each(sum.count, AccumulateScaledKernel<T, Term>{sum.data, term, WideSumScale<T>(scale)});
      }
      return Space::for_each(sum.count, AccumulateKernel<T, Term, SumOf>{sum.data, term});
    case Reduction::Min:
      return Space::for_each(sum.count, AccumulateKernel<T, Term, MinimumOf>{sum.data, term});
    case Reduction::Max:
      return Space::for_each(sum.count, AccumulateKernel<T, Term, MaximumOf>{sum.data, term});
    case Reduction::Prod:
      return Space::for_each(sum.count, AccumulateKernel<T, Term, ProductOf>{sum.data, term});
    case Reduction::Own:
      break;  // methods do not take it
  }
}

}  // namespace

void SpaceBackend::convert(Source from, Target to, std::byte* rest) const {
  with_floating_element(from.dtype, [&]<class From>(Element<From>) {
    with_floating_element(to.dtype, [&]<class To>(Element<To>) {
      if (rest == nullptr) {
        Space::for_each(to.count, ConvertKernel<To, From, false>{to.data, from.data, rest});
      } else {
        Space::for_each(to.count, ConvertKernel<To, From, true>{to.data, from.data, rest});
      }
    });
  });
}

void SpaceBackend::accumulate(Reduction reduction, const SumScale& scale, Target sum, Source term) const {
  with_floating_element(sum.dtype, [&]<class T>(Element<T>) {
    with_floating_element(term.dtype, [&]<class Term>(Element<Term>) {
      if constexpr (sizeof(Term) < sizeof(T)) accumulate_as<T, Term>(reduction, scale, sum, term.data);
    });
  });
}

}  // namespace lacuna::kernels
