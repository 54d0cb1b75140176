#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "bindings/cpp/elements.hpp"
#include "bindings/cpp/sparse.hpp"
#include "runtime/values/call.hpp"

namespace lacuna {

/// A collective on buffers of known lengths, for Communicator's call, start and prepare. Each collective has a function
/// (collectives.hpp) that makes one, and does nothing else:
///
///     Status done = world.call(allreduce(gradient, gradient, Reduction::Avg));
///
/// A buffer is one element, or elements in contiguous memory: a std::span, or a std::vector, std::array and the like
/// that has a name. A temporary container is refused, because a call may outlive it. A MemorySpan says that elements
/// lie on a device. The element type is that of the buffers (DtypeOf). If it is named, as in allreduce<float>(...), the
/// buffers must have it. Lengths that do not fit together are an error of call, start and prepare, and nothing is sent.
/// With tables of blocks a buffer may be longer than needed. In functions with a `root`, some buffers belong to the
/// root only; other ranks may pass an empty span for these. Like a Call, a TypedCall owns neither buffers nor tables.
/// To tell these functions from std::reduce and std::exclusive_scan, write lacuna::reduce and lacuna::exclusive_scan,
/// or name the element type.
///
/// Each of these functions also takes one buffer, for a call in place. It is the larger of the two buffers that the
/// rank has, or the only one: in an allgather all blocks, of which each rank has filled its own; in a gather all blocks
/// on the root, and the rank's block elsewhere.
struct [[nodiscard]] TypedCall {
  Call call{};             ///< its count is not used; its memory is that of the input
  std::size_t input = 0;   ///< elements of its input, if this rank has one
  std::size_t output = 0;  ///< elements of its output, if this rank has one
  Memory output_memory{};  ///< of its output, if this rank has one; a rank with both needs equal ones
  /// The call has one buffer, and both lengths are those of this buffer. If the collective has a block for each rank on
  /// one side only, the other side is block `rank` of the buffer.
  bool in_place = false;
};

/// Sets the input of a call.
template <class Buffer>
requires(!is_sparse_input<std::remove_cv_t<Buffer>>) void set_input(TypedCall& typed, Buffer& input) {
  const auto in = elements_of_buffer(input);
  typed.call.input = in.data;
  typed.call.dtype = DtypeOf<ElementOf<Buffer&>>::value;
  typed.call.memory = in.memory;
  typed.input = in.size;
}
template <class T>
void set_input(TypedCall& typed, const SparseInput<T>& input) {
  static constexpr std::uint32_t none = 0;  // an empty list is a list of entries too
  typed.call.input = input.values.data();
  typed.call.dtype = DtypeOf<T>::value;
  typed.call.memory = input.memory;
  typed.call.input_entries = {input.places.empty() ? &none : input.places.data(), input.places.size(),
                              input.entry_length()};
  typed.input = input.length;
}
/// Sets the output of a call.
template <class Buffer>
requires(!is_sparse_output<std::remove_cv_t<Buffer>>) void set_output(TypedCall& typed, Buffer& output) {
  const auto out = elements_of_buffer(output);
  typed.call.output = out.data;
  typed.output_memory = out.memory;
  typed.output = out.size;
}
template <class T>
void set_output(TypedCall& typed, const SparseOutput<T>& output) {
  static std::uint32_t none = 0;
  typed.call.output = output.values.data();
  typed.output_memory = output.memory;
  typed.call.output_entries = {output.places.empty() ? &none : output.places.data(), output.places.size(),
                               output.entries, output.entry_length()};
  typed.output = output.length;
}

/// Sets both buffers of a call. Their elements must be of type T unless that is void.
template <class T, Buffers takes, class Input, class Output>
void set_buffers(TypedCall& typed, std::remove_reference_t<Input>& input, std::remove_reference_t<Output>& output) {
  constexpr BufferFault fault = fault_of_buffers<T, takes, Input, Output>();
  if constexpr (accept_buffers<fault>()) {
    set_input(typed, input);
    set_output(typed, output);
  }
}

/// Makes this buffer the only one of a call in place.
template <class T, class Data>
void set_buffer(TypedCall& typed, std::remove_reference_t<Data>& data) {
  set_buffers<T, Buffers::Elements, Data, Data>(typed, data, data);
  typed.in_place = true;
}

}  // namespace lacuna
