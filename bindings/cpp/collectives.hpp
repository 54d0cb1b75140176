#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "runtime/values/call.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/float16.hpp"

namespace lacuna {

/// The Dtype of each element type that the typed calls take. A program may add a type of its own that has the bits of
/// one of these, such as another library's half:
///
///     template <>
///     struct lacuna::DtypeOf<__half> : std::integral_constant<lacuna::Dtype, lacuna::Dtype::F16> {};
template <class T>
struct DtypeOf;
template <>
struct DtypeOf<float> : std::integral_constant<Dtype, Dtype::F32> {};
template <>
struct DtypeOf<double> : std::integral_constant<Dtype, Dtype::F64> {};
template <>
struct DtypeOf<bf16> : std::integral_constant<Dtype, Dtype::BF16> {};
template <>
struct DtypeOf<f16> : std::integral_constant<Dtype, Dtype::F16> {};
template <>
struct DtypeOf<std::int32_t> : std::integral_constant<Dtype, Dtype::I32> {};
template <>
struct DtypeOf<std::int64_t> : std::integral_constant<Dtype, Dtype::I64> {};
template <>
struct DtypeOf<std::uint8_t> : std::integral_constant<Dtype, Dtype::U8> {};

/// The types of elements that buffers can have: those that DtypeOf knows.
template <class T>
concept Element = std::is_trivially_copyable_v<T> && requires {
  DtypeOf<T>::value;
} && sizeof(T) == size_of(DtypeOf<T>::value);

/// The element type of a buffer.
template <class Range>
using ElementOf = std::ranges::range_value_t<Range>;

/// What a typed call can read: elements of type T, or of any element type if T is void. They are in a std::span or
/// another view, or in a std::vector, a std::array and the like that has a name. A temporary container is refused,
/// because a call may outlive it.
template <class Range, class T>
concept InputOf = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    std::ranges::borrowed_range<Range> && Element<ElementOf<Range>> &&
    (std::is_void_v<T> || std::same_as<T, ElementOf<Range>>);

/// What a typed call can write: whatever it can read, if its elements are not const.
template <class Range, class T>
concept OutputOf =
    InputOf<Range, T> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

template <class T>
struct SparseInput;
template <class T>
struct SparseOutput;

/// The element type of a buffer, also of one that holds entries.
template <class Buffer>
struct ElementOfBuffer : std::type_identity<std::ranges::range_value_t<Buffer>> {};
template <class T>
struct ElementOfBuffer<SparseInput<T>> : std::type_identity<T> {};
template <class T>
struct ElementOfBuffer<SparseOutput<T>> : std::type_identity<T> {};

template <class Buffer>
inline constexpr bool is_sparse_input = false;
template <class T>
inline constexpr bool is_sparse_input<SparseInput<T>> = true;
template <class Buffer>
inline constexpr bool is_sparse_output = false;
template <class T>
inline constexpr bool is_sparse_output<SparseOutput<T>> = true;

/// Has the buffer elements of this type? Void stands for any type.
template <class Buffer, class T>
inline constexpr bool has_elements_of = std::is_void_v<T> || std::is_same_v<typename ElementOfBuffer<Buffer>::type, T>;

/// What an allreduce, reduce_scatter or allgather can read and write: elements (InputOf, OutputOf) or entries.
template <class Buffer, class T>
concept AnyInputOf = InputOf<Buffer, T> ||
    (is_sparse_input<std::remove_cvref_t<Buffer>>&& has_elements_of<std::remove_cvref_t<Buffer>, T>);
template <class Buffer, class T>
concept AnyOutputOf = OutputOf<Buffer, T> ||
    (is_sparse_output<std::remove_cvref_t<Buffer>>&& has_elements_of<std::remove_cvref_t<Buffer>, T>);

/// How many elements each of these entries has. Throws std::invalid_argument, with the text, if some have more than
/// others.
inline std::size_t length_of_entry(std::size_t places, std::size_t values, const char* text) {
  if (places == 0 ? values != 0 : values % places != 0) throw std::invalid_argument(text);
  return places == 0 ? 1 : values / places;
}

/// A vector of `length` elements, given by the entries that are not 0. The method says how many elements an entry has:
/// one, or m. The values [i * m, (i + 1) * m) are those of the elements [places[i] * m, (places[i] + 1) * m). Places
/// may have any order, entries of the same place add up, and each rank has as many entries as it likes. It needs a
/// method that takes entries.
template <class T>
struct SparseInput {
  /// Throws std::invalid_argument if the values are not m for each place.
  SparseInput(std::span<const std::uint32_t> where, std::span<const T> what, std::size_t elements)
      : places(where), values(what), length(elements) {
    (void)entry_length();
  }

  std::size_t entry_length() const {
    return length_of_entry(places.size(), values.size(), "a SparseInput needs as many values for each place");
  }

  std::span<const std::uint32_t> places;
  std::span<const T> values;
  std::size_t length;
};

/// Memory for the entries of an output, which lie as in a SparseInput. Places ascend, and each occurs once. When the
/// call has ended, `entries` has their number. If there is not enough room, the call fails. Either all ranks pass a
/// SparseOutput, or none does.
template <class T>
struct SparseOutput {
  /// Throws std::invalid_argument if there is not room for m values for each place.
  SparseOutput(std::span<std::uint32_t> where, std::span<T> what, std::size_t elements, std::size_t& count)
      : places(where), values(what), length(elements), entries(&count) {
    (void)entry_length();
  }

  std::size_t entry_length() const {
    return length_of_entry(places.size(), values.size(), "a SparseOutput needs room for as many values for each place");
  }

  std::span<std::uint32_t> places;
  std::span<T> values;
  std::size_t length;
  std::size_t* entries;
};

/// A collective on buffers of known lengths, for Communicator's call, start and prepare. Each collective has a function
/// that makes one, and does nothing else:
///
///     Status done = world.call(allreduce(gradient, gradient, Reduction::Avg));
///
/// The element type is that of the buffers. If it is named, as in allreduce<float>(...), the buffers must have it.
/// Lengths that do not fit together are an error of call, start and prepare, and nothing is sent. With tables of blocks
/// a buffer may be longer than needed. In functions with a `root`, some buffers belong to the root only; other ranks
/// may pass an empty span for these. Like a Call, a TypedCall owns neither buffers nor tables. To tell these
/// functions from std::reduce and std::exclusive_scan, write lacuna::reduce and lacuna::exclusive_scan, or name the
/// element type.
///
/// Each of these functions also takes one buffer, for a call in place. It is the larger of the two buffers that the
/// rank has, or the only one: in an allgather all blocks, of which each rank has filled its own; in a gather all blocks
/// on the root, and the rank's block elsewhere.
struct [[nodiscard]] TypedCall {
  Call call{};             ///< its count is not used
  std::size_t input = 0;   ///< elements of its input, if this rank has one
  std::size_t output = 0;  ///< elements of its output, if this rank has one
  /// The call has one buffer, and both lengths are its own: where the collective has a block for each rank on one side
  /// only, the other side is block `rank` of the buffer.
  bool in_place = false;
};

/// These functions put a buffer into a TypedCall.
template <std::ranges::range Range>
void set_input(TypedCall& typed, Range& input) {
  const std::span in(input);
  typed.call.input = in.data();
  typed.call.dtype = DtypeOf<ElementOf<Range>>::value;
  typed.input = in.size();
}
template <class T>
void set_input(TypedCall& typed, const SparseInput<T>& input) {
  static constexpr std::uint32_t none = 0;  // an empty list is a list of entries too
  typed.call.input = input.values.data();
  typed.call.dtype = DtypeOf<T>::value;
  typed.call.input_entries = {input.places.empty() ? &none : input.places.data(), input.places.size(),
                              input.entry_length()};
  typed.input = input.length;
}
template <std::ranges::range Range>
void set_output(TypedCall& typed, Range& output) {
  const std::span out(output);
  typed.call.output = out.data();
  typed.output = out.size();
}
template <class T>
void set_output(TypedCall& typed, const SparseOutput<T>& output) {
  static std::uint32_t none = 0;
  typed.call.output = output.values.data();
  typed.call.output_entries = {output.places.empty() ? &none : output.places.data(), output.places.size(),
                               output.entries, output.entry_length()};
  typed.output = output.length;
}

/// Returns this call on these buffers. The functions below use it.
template <class Input, class Output>
TypedCall typed_call(Call call, Input& input, Output& output) {
  TypedCall typed{.call = std::move(call)};
  set_input(typed, input);
  set_output(typed, output);
  return typed;
}

/// Returns this call in place, on one buffer.
template <class Data>
TypedCall typed_call_in_place(Call call, Data& data) {
  TypedCall typed = typed_call(std::move(call), data, data);
  typed.in_place = true;
  return typed;
}

/// output = the reduction of all inputs. It has equal bits on all ranks.
template <class T = void, AnyInputOf<T> Input,
          AnyOutputOf<typename ElementOfBuffer<std::remove_cvref_t<Input>>::type> Output>
TypedCall allreduce(Input&& input, Output&& output, Reduction reduction = Reduction::Sum, Options options = {}) {
  return typed_call({.collective = Collective::Allreduce, .reduction = reduction, .options = std::move(options)}, input,
                    output);
}

/// output = block `rank` of the reduction of all inputs. input has size() * output.size() elements.
template <class T = void, AnyInputOf<T> Input,
          AnyOutputOf<typename ElementOfBuffer<std::remove_cvref_t<Input>>::type> Output>
TypedCall reduce_scatter(Input&& input, Output&& output, Reduction reduction = Reduction::Sum, Options options = {}) {
  return typed_call({.collective = Collective::ReduceScatter, .reduction = reduction, .options = std::move(options)},
                    input, output);
}

/// A reduce_scatter with blocks of different lengths in the input. All ranks give the same counts.
template <class T = void, InputOf<T> Input, OutputOf<ElementOf<Input>> Output>
TypedCall reduce_scatterv(Input&& input, const Blocks& blocks, Output&& output, Reduction reduction = Reduction::Sum,
                          Options options = {}) {
  return typed_call({.collective = Collective::ReduceScatterv,
                     .reduction = reduction,
                     .input_blocks = blocks,
                     .options = std::move(options)},
                    input, output);
}

/// output = the inputs of all ranks, in the order of ranks. output has size() * input.size() elements.
template <class T = void, AnyInputOf<T> Input,
          AnyOutputOf<typename ElementOfBuffer<std::remove_cvref_t<Input>>::type> Output>
TypedCall allgather(Input&& input, Output&& output, Options options = {}) {
  return typed_call({.collective = Collective::Allgather, .options = std::move(options)}, input, output);
}

/// An allgather with inputs of different lengths. All ranks give the same counts.
template <class T = void, InputOf<T> Input, OutputOf<ElementOf<Input>> Output>
TypedCall allgatherv(Input&& input, Output&& output, const Blocks& blocks, Options options = {}) {
  return typed_call({.collective = Collective::Allgatherv, .output_blocks = blocks, .options = std::move(options)},
                    input, output);
}

/// data = the root's data, on all ranks.
template <class T = void, OutputOf<T> Data>
TypedCall broadcast(Data&& data, Rank root = 0, Options options = {}) {
  return typed_call({.collective = Collective::Broadcast, .root = root, .options = std::move(options)}, data, data);
}

/// On the root, output = the reduction of all inputs.
template <class T = void, InputOf<T> Input, OutputOf<ElementOf<Input>> Output>
TypedCall reduce(Input&& input, Output&& output, Rank root = 0, Reduction reduction = Reduction::Sum,
                 Options options = {}) {
  return typed_call(
      {.collective = Collective::Reduce, .reduction = reduction, .root = root, .options = std::move(options)}, input,
      output);
}

/// On the root, output = the inputs of all ranks, in the order of ranks. It has size() * input.size() elements.
template <class T = void, InputOf<T> Input, OutputOf<ElementOf<Input>> Output>
TypedCall gather(Input&& input, Output&& output, Rank root = 0, Options options = {}) {
  return typed_call({.collective = Collective::Gather, .root = root, .options = std::move(options)}, input, output);
}

/// A gather with inputs of different lengths. Only the root's blocks count. With `received` in them, the root need not
/// know the lengths.
template <class T = void, InputOf<T> Input, OutputOf<ElementOf<Input>> Output>
TypedCall gatherv(Input&& input, Output&& output, const Blocks& blocks, Rank root = 0, Options options = {}) {
  return typed_call(
      {.collective = Collective::Gatherv, .root = root, .output_blocks = blocks, .options = std::move(options)}, input,
      output);
}

/// output = block `rank` of the root's input, which has size() * output.size() elements.
template <class T = void, InputOf<T> Input, OutputOf<ElementOf<Input>> Output>
TypedCall scatter(Input&& input, Output&& output, Rank root = 0, Options options = {}) {
  return typed_call({.collective = Collective::Scatter, .root = root, .options = std::move(options)}, input, output);
}

/// A scatter with blocks of different lengths. Only the root's blocks count.
template <class T = void, InputOf<T> Input, OutputOf<ElementOf<Input>> Output>
TypedCall scatterv(Input&& input, const Blocks& blocks, Output&& output, Rank root = 0, Options options = {}) {
  return typed_call(
      {.collective = Collective::Scatterv, .root = root, .input_blocks = blocks, .options = std::move(options)}, input,
      output);
}

/// Block i of output = block `rank` of rank i's input. Both have size() blocks of equal length.
template <class T = void, InputOf<T> Input, OutputOf<ElementOf<Input>> Output>
TypedCall alltoall(Input&& input, Output&& output, Options options = {}) {
  return typed_call({.collective = Collective::Alltoall, .options = std::move(options)}, input, output);
}

/// An alltoall with blocks of different lengths. With `received` in the output's blocks, a rank need not know how much
/// the other ranks send to it.
template <class T = void, InputOf<T> Input, OutputOf<ElementOf<Input>> Output>
TypedCall alltoallv(Input&& input, const Blocks& input_blocks, Output&& output, const Blocks& output_blocks,
                    Options options = {}) {
  return typed_call({.collective = Collective::Alltoallv,
                     .input_blocks = input_blocks,
                     .output_blocks = output_blocks,
                     .options = std::move(options)},
                    input, output);
}

/// output = the reduction of the inputs of ranks 0 .. rank. Avg is refused.
template <class T = void, InputOf<T> Input, OutputOf<ElementOf<Input>> Output>
TypedCall scan(Input&& input, Output&& output, Reduction reduction = Reduction::Sum, Options options = {}) {
  return typed_call({.collective = Collective::Scan, .reduction = reduction, .options = std::move(options)}, input,
                    output);
}

/// output = the reduction of the inputs of ranks 0 .. rank-1. On rank 0 it stays unchanged. Avg is refused.
template <class T = void, InputOf<T> Input, OutputOf<ElementOf<Input>> Output>
TypedCall exclusive_scan(Input&& input, Output&& output, Reduction reduction = Reduction::Sum, Options options = {}) {
  return typed_call({.collective = Collective::ExclusiveScan, .reduction = reduction, .options = std::move(options)},
                    input, output);
}

// The following functions make calls in place, with one buffer.

/// data = the reduction of the data of all ranks.
template <class T = void, OutputOf<T> Data>
TypedCall allreduce(Data&& data, Reduction reduction = Reduction::Sum, Options options = {}) {
  return typed_call_in_place(
      {.collective = Collective::Allreduce, .reduction = reduction, .options = std::move(options)}, data);
}

/// Block `rank` of data = block `rank` of the reduction of all data. The other blocks stay as they are, or hold partial
/// sums.
template <class T = void, OutputOf<T> Data>
TypedCall reduce_scatter(Data&& data, Reduction reduction = Reduction::Sum, Options options = {}) {
  return typed_call_in_place(
      {.collective = Collective::ReduceScatter, .reduction = reduction, .options = std::move(options)}, data);
}

/// A reduce_scatter with blocks of different lengths.
template <class T = void, OutputOf<T> Data>
TypedCall reduce_scatterv(Data&& data, const Blocks& blocks, Reduction reduction = Reduction::Sum,
                          Options options = {}) {
  return typed_call_in_place({.collective = Collective::ReduceScatterv,
                              .reduction = reduction,
                              .input_blocks = blocks,
                              .options = std::move(options)},
                             data);
}

/// data = block r of each rank r.
template <class T = void, OutputOf<T> Data>
TypedCall allgather(Data&& data, Options options = {}) {
  return typed_call_in_place({.collective = Collective::Allgather, .options = std::move(options)}, data);
}

/// An allgather with blocks of different lengths.
template <class T = void, OutputOf<T> Data>
TypedCall allgatherv(Data&& data, const Blocks& blocks, Options options = {}) {
  return typed_call_in_place(
      {.collective = Collective::Allgatherv, .output_blocks = blocks, .options = std::move(options)}, data);
}

/// On the root, data = the reduction of the data of all ranks.
template <class T = void, OutputOf<T> Data>
TypedCall reduce(Data&& data, Rank root = 0, Reduction reduction = Reduction::Sum, Options options = {}) {
  return typed_call_in_place(
      {.collective = Collective::Reduce, .reduction = reduction, .root = root, .options = std::move(options)}, data);
}

/// On the root, data = block r of each rank r. On other ranks data is that block.
template <class T = void, OutputOf<T> Data>
TypedCall gather(Data&& data, Rank root = 0, Options options = {}) {
  return typed_call_in_place({.collective = Collective::Gather, .root = root, .options = std::move(options)}, data);
}

/// On the root, data has a block for each rank, and stays. On other ranks data = block `rank` of it.
template <class T = void, OutputOf<T> Data>
TypedCall scatter(Data&& data, Rank root = 0, Options options = {}) {
  return typed_call_in_place({.collective = Collective::Scatter, .root = root, .options = std::move(options)}, data);
}

/// Block i of data = block `rank` of rank i's data.
template <class T = void, OutputOf<T> Data>
TypedCall alltoall(Data&& data, Options options = {}) {
  return typed_call_in_place({.collective = Collective::Alltoall, .options = std::move(options)}, data);
}

/// data = the reduction of the data of ranks 0 .. rank. Avg is refused.
template <class T = void, OutputOf<T> Data>
TypedCall scan(Data&& data, Reduction reduction = Reduction::Sum, Options options = {}) {
  return typed_call_in_place({.collective = Collective::Scan, .reduction = reduction, .options = std::move(options)},
                             data);
}

/// data = the reduction of the data of ranks 0 .. rank-1. On rank 0 it stays unchanged. Avg is refused.
template <class T = void, OutputOf<T> Data>
TypedCall exclusive_scan(Data&& data, Reduction reduction = Reduction::Sum, Options options = {}) {
  return typed_call_in_place(
      {.collective = Collective::ExclusiveScan, .reduction = reduction, .options = std::move(options)}, data);
}

/// Ends after all ranks have called it.
inline TypedCall barrier(Options options = {}) {
  return {.call = {.collective = Collective::Barrier, .options = std::move(options)}};
}

}  // namespace lacuna
