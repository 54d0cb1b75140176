#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

#include "runtime/values/dtype.hpp"
#include "runtime/values/float16.hpp"
#include "runtime/values/located.hpp"
#include "runtime/values/memory.hpp"

/// Which types the elements of typed calls may have, and what may be a buffer of them.
namespace lacuna {

/// The integers of C++, however they are spelled. Characters and bool are none.
template <class T>
inline constexpr bool is_integer_type =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> &&
    !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>;

/// The dtype of a type that lacuna knows: one of runtime/values/dtypes.def, or an integer with the size and the sign of
/// one.
template <class T>
consteval std::optional<Dtype> known_dtype() {
  std::optional<Dtype> found;
#define LACUNA_DTYPE(enumerator, number, name, bytes, holds, type)                                      \
  if constexpr (std::is_same_v<T, type>) found = Dtype::enumerator;                                     \
  if constexpr (ElementKind::holds == ElementKind::Integer && is_integer_type<T>) {                     \
    if (sizeof(T) == bytes && std::is_signed_v<T> == std::is_signed_v<type>) found = Dtype::enumerator; \
  }
#include "runtime/values/dtypes.def"
#undef LACUNA_DTYPE
  return found;
}

/// The Dtype of each element type that the typed calls take: float, double, bf16, f16, all integers of 8 to 64 bits,
/// std::complex<float>, std::complex<double>, and Located of float, double, std::int32_t and std::int64_t. A program
/// may add a type of its own that has the bits of one of these, such as another library's half. Or it adds a type of 1,
/// 2, 4, 8, 16, 32 or 64 bytes that only its own reductions understand (own_reduction.hpp):
///
///     template <>
///     struct lacuna::DtypeOf<__half> : std::integral_constant<lacuna::Dtype, lacuna::Dtype::F16> {};
///     template <>
///     struct lacuna::DtypeOf<Moments> : std::integral_constant<lacuna::Dtype, lacuna::Dtype::Bytes32> {};
template <class T>
struct DtypeOf;
template <class T>
requires(known_dtype<T>().has_value()) struct DtypeOf<T> : std::integral_constant<Dtype, *known_dtype<T>()> {
};

/// The types of elements that buffers can have: those that DtypeOf knows.
template <class T>
concept Element = std::is_trivially_copyable_v<T> && requires {
  DtypeOf<T>::value;
} && sizeof(T) == size_of(DtypeOf<T>::value);

template <class T>
struct SparseInput;
template <class T>
struct SparseOutput;

template <class Buffer>
inline constexpr bool is_sparse_input = false;
template <class T>
inline constexpr bool is_sparse_input<SparseInput<T>> = true;
template <class Buffer>
inline constexpr bool is_sparse_output = false;
template <class T>
inline constexpr bool is_sparse_output<SparseOutput<T>> = true;

/// Elements with the memory that they lie in, such as that of a device. Like a std::span it does not own them. It is no
/// range, because the host may be unable to reach them.
///
///     MemorySpan gradient{data, count, {.kind = MemoryKind::Cuda, .stream = stream}};
///     Status done = world.call(allreduce(gradient));
template <class T>
struct MemorySpan {
  T* data = nullptr;
  std::size_t size = 0;
  Memory memory{};
};

/// Tells calls how a type of another library is a buffer, such as a view of Kokkos. A specialisation has a function
/// `MemorySpan<T> of(const Buffer&)`, which may throw if the elements are not contiguous.
template <class Buffer>
struct BufferTraits {};
template <class T>
struct BufferTraits<MemorySpan<T>> {
  static MemorySpan<T> of(const MemorySpan<T>& span) { return span; }
};
template <class Buffer>
concept MappedBuffer = requires(const std::remove_cvref_t<Buffer>& buffer) {
  BufferTraits<std::remove_cvref_t<Buffer>>::of(buffer);
};
/// The elements of a mapped buffer, which are const if the buffer can't be written.
template <MappedBuffer Buffer>
using MappedElement = std::remove_pointer_t<
    decltype(BufferTraits<std::remove_cvref_t<Buffer>>::of(std::declval<const std::remove_cvref_t<Buffer>&>()).data)>;

/// Elements in contiguous memory.
template <class Buffer>
concept ContiguousElements = std::ranges::contiguous_range<Buffer> && std::ranges::sized_range<Buffer>;

/// The element type of a buffer. A buffer is a list of elements, one element, or a list of entries.
template <class Buffer>
struct ElementOfBuffer : std::remove_cvref<Buffer> {};
template <MappedBuffer Buffer>
struct ElementOfBuffer<Buffer> : std::remove_const<MappedElement<Buffer>> {};
template <ContiguousElements Buffer>
struct ElementOfBuffer<Buffer> : std::type_identity<std::ranges::range_value_t<Buffer>> {};
template <class T>
struct ElementOfBuffer<SparseInput<T>> : std::type_identity<T> {};
template <class T>
struct ElementOfBuffer<SparseOutput<T>> : std::type_identity<T> {};
template <class Buffer>
using ElementOf =
    typename ElementOfBuffer<std::conditional_t<ContiguousElements<Buffer>, Buffer, std::remove_cvref_t<Buffer>>>::type;

/// What can be wrong with a buffer of a typed call.
enum class BufferFault : std::uint8_t { None, Scattered, Element, Temporary, Constant, Entries, Different, NotNamed };

enum class Buffers : std::uint8_t { Elements, ElementsOrEntries };

/// What is wrong with one buffer, as it is given to a function that takes it as Buffer&&.
template <class Buffer, Buffers takes, bool is_output>
consteval BufferFault fault_of_buffer() {
  using Plain = std::remove_cvref_t<Buffer>;
  if constexpr (is_output ? is_sparse_output<Plain> : is_sparse_input<Plain>) {
    return takes == Buffers::Elements ? BufferFault::Entries : BufferFault::None;
  } else if constexpr (MappedBuffer<Buffer>) {
    if (!lacuna::Element<ElementOf<Buffer>>) return BufferFault::Element;
    return is_output && std::is_const_v<MappedElement<Buffer>> ? BufferFault::Constant : BufferFault::None;
  } else if constexpr (std::ranges::range<Buffer> && !ContiguousElements<Buffer>) {
    return BufferFault::Scattered;
  } else if constexpr (!lacuna::Element<ElementOf<Buffer>>) {
    return BufferFault::Element;
  } else if constexpr (ContiguousElements<Buffer>) {
    if (!std::ranges::borrowed_range<Buffer>) return BufferFault::Temporary;
    return is_output && std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Buffer>>>
               ? BufferFault::Constant
               : BufferFault::None;
  } else {
    if (!std::is_lvalue_reference_v<Buffer>) return BufferFault::Temporary;
    return is_output && std::is_const_v<std::remove_reference_t<Buffer>> ? BufferFault::Constant : BufferFault::None;
  }
}

/// What is wrong with the buffers of a typed call, whose elements are to be of type T, unless that is void. An
/// allreduce in place has one buffer, which is both.
template <class T, Buffers takes, class Input, class Output>
consteval BufferFault fault_of_buffers() {
  constexpr BufferFault of_input = fault_of_buffer<Input, takes, false>();
  constexpr BufferFault of_output = fault_of_buffer<Output, takes, true>();
  if constexpr (of_input != BufferFault::None) {
    return of_input;
  } else if constexpr (of_output != BufferFault::None) {
    return of_output;
  } else if constexpr (!std::is_same_v<ElementOf<Input>, ElementOf<Output>>) {
    return BufferFault::Different;
  } else {
    return std::is_void_v<T> || std::is_same_v<T, ElementOf<Input>> ? BufferFault::None : BufferFault::NotNamed;
  }
}

/// Refuses buffers that a typed call can't have, with one error of the compiler that says why and what is allowed.
template <BufferFault fault>
constexpr bool accept_buffers() {
  static_assert(
      fault != BufferFault::Element,
      "lacuna: no such elements. A buffer holds float, double, lacuna::bf16, lacuna::f16, integers of 8 to 64 "
      "bits (but not char or bool), std::complex<float>, std::complex<double>, lacuna::Located of float, "
      "double, int32_t or int64_t, or a type for which the program has specialised lacuna::DtypeOf");
  static_assert(
      fault != BufferFault::Scattered,
      "lacuna: a buffer is contiguous: one element, or a std::span, std::vector, std::array, built-in array or "
      "lacuna::MemorySpan of elements; a std::vector<bool>, std::list or view that computes its elements is not");
  static_assert(fault != BufferFault::Temporary,
                "lacuna: a call may outlive a temporary. Pass a variable or a std::span of the memory");
  static_assert(fault != BufferFault::Constant, "lacuna: the call writes to this buffer, so it must not be const");
  static_assert(
      fault != BufferFault::Entries,
      "lacuna: only allreduce, reduce_scatter and allgather take a SparseInput as input and a SparseOutput as "
      "output");
  static_assert(fault != BufferFault::Different, "lacuna: input and output must have elements of the same type");
  static_assert(fault != BufferFault::NotNamed,
                "lacuna: the buffers must have elements of the type that the call names, as in allreduce<float>");
  return fault == BufferFault::None;
}

/// The elements of a buffer: those of a list, or one.
template <class Buffer>
auto elements_of_buffer(Buffer& buffer) {
  if constexpr (MappedBuffer<Buffer>) {
    return BufferTraits<std::remove_cvref_t<Buffer>>::of(buffer);
  } else if constexpr (ContiguousElements<Buffer&>) {
    return MemorySpan{std::ranges::data(buffer), std::ranges::size(buffer)};
  } else {
    return MemorySpan{&buffer, 1};
  }
}

}  // namespace lacuna
