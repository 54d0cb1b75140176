#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "bindings/cpp/elements.hpp"
#include "bindings/cpp/sparse.hpp"
#include "runtime/values/call.hpp"
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

class Communicator;

/// Can the argument be the first one of a call? A Communicator is left to functions of the program that have the name
/// of a collective.
template <class Argument>
concept FirstBuffer = !std::is_same_v<std::remove_cvref_t<Argument>, Communicator>;
/// Can the argument be a buffer, or is it one of those that follow the buffers of a call?
template <class Argument>
concept MayBeBuffer = !std::is_convertible_v<Argument, AnyReduction> && !std::is_convertible_v<Argument, Options> &&
                      !std::is_convertible_v<Argument, Blocks>;
/// The same, for calls whose buffers are followed by the root. So the output of these calls can't be one integer; give
/// a std::span of it.
template <class Argument>
concept MayBeBufferBeforeRoot = MayBeBuffer<Argument> && !std::is_integral_v<std::remove_cvref_t<Argument>>;

/// A collective on buffers of known lengths, for Communicator's call, start and prepare. Each collective has a function
/// that makes one, and does nothing else:
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
  /// The call has one buffer, and both lengths are its own: where the collective has a block for each rank on one side
  /// only, the other side is block `rank` of the buffer.
  bool in_place = false;
};

/// These functions put a buffer into a TypedCall.
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

/// Puts the buffers of a call into it. Their elements are of type T unless that is void. The functions below use it.
template <class T, Buffers takes, class Input, class Output>
void set_buffers(TypedCall& typed, std::remove_reference_t<Input>& input, std::remove_reference_t<Output>& output) {
  constexpr BufferFault fault = fault_of_buffers<T, takes, Input, Output>();
  if constexpr (accept_buffers<fault>()) {
    set_input(typed, input);
    set_output(typed, output);
  }
}

/// Puts the buffer of a call in place into it.
template <class T, class Data>
void set_buffer(TypedCall& typed, std::remove_reference_t<Data>& data) {
  set_buffers<T, Buffers::Elements, Data, Data>(typed, data, data);
  typed.in_place = true;
}

/// output = the reduction of all inputs. It has equal bits on all ranks.
template <class T = void, FirstBuffer Input, MayBeBuffer Output>
TypedCall allreduce(Input&& input, Output&& output, AnyReduction reduction = {}, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Allreduce,
                           .reduction = reduction.reduction,
                           .options = std::move(options),
                           .own = reduction.own}};
  set_buffers<T, Buffers::ElementsOrEntries, Input, Output>(typed, input, output);
  return typed;
}

/// output = block `rank` of the reduction of all inputs. input has size() * output.size() elements.
template <class T = void, FirstBuffer Input, MayBeBuffer Output>
TypedCall reduce_scatter(Input&& input, Output&& output, AnyReduction reduction = {}, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::ReduceScatter,
                           .reduction = reduction.reduction,
                           .options = std::move(options),
                           .own = reduction.own}};
  set_buffers<T, Buffers::ElementsOrEntries, Input, Output>(typed, input, output);
  return typed;
}

/// A reduce_scatter with blocks of different lengths in the input. All ranks give the same counts.
template <class T = void, FirstBuffer Input, MayBeBuffer Output>
TypedCall reduce_scatterv(Input&& input, const Blocks& blocks, Output&& output, AnyReduction reduction = {},
                          Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::ReduceScatterv,
                           .reduction = reduction.reduction,
                           .input_blocks = blocks,
                           .options = std::move(options),
                           .own = reduction.own}};
  set_buffers<T, Buffers::Elements, Input, Output>(typed, input, output);
  return typed;
}

/// output = the inputs of all ranks, in the order of ranks. output has size() * input.size() elements.
template <class T = void, FirstBuffer Input, MayBeBuffer Output>
TypedCall allgather(Input&& input, Output&& output, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Allgather, .options = std::move(options)}};
  set_buffers<T, Buffers::ElementsOrEntries, Input, Output>(typed, input, output);
  return typed;
}

/// An allgather with inputs of different lengths. All ranks give the same counts.
template <class T = void, FirstBuffer Input, MayBeBuffer Output>
TypedCall allgatherv(Input&& input, Output&& output, const Blocks& blocks, Options options = {}) {
  TypedCall typed{
      .call = {.collective = Collective::Allgatherv, .output_blocks = blocks, .options = std::move(options)}};
  set_buffers<T, Buffers::Elements, Input, Output>(typed, input, output);
  return typed;
}

/// data = the root's data, on all ranks.
template <class T = void, FirstBuffer Data>
TypedCall broadcast(Data&& data, Rank root = 0, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Broadcast, .root = root, .options = std::move(options)}};
  set_buffers<T, Buffers::Elements, Data, Data>(typed, data, data);
  return typed;
}

/// On the root, output = the reduction of all inputs.
template <class T = void, FirstBuffer Input, MayBeBufferBeforeRoot Output>
TypedCall reduce(Input&& input, Output&& output, Rank root = 0, AnyReduction reduction = {}, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Reduce,
                           .reduction = reduction.reduction,
                           .root = root,
                           .options = std::move(options),
                           .own = reduction.own}};
  set_buffers<T, Buffers::Elements, Input, Output>(typed, input, output);
  return typed;
}

/// On the root, output = the inputs of all ranks, in the order of ranks. It has size() * input.size() elements.
template <class T = void, FirstBuffer Input, MayBeBufferBeforeRoot Output>
TypedCall gather(Input&& input, Output&& output, Rank root = 0, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Gather, .root = root, .options = std::move(options)}};
  set_buffers<T, Buffers::Elements, Input, Output>(typed, input, output);
  return typed;
}

/// A gather with inputs of different lengths. Only the root's blocks count. With `received` in them, the root need not
/// know the lengths.
template <class T = void, FirstBuffer Input, MayBeBuffer Output>
TypedCall gatherv(Input&& input, Output&& output, const Blocks& blocks, Rank root = 0, Options options = {}) {
  TypedCall typed{
      .call = {
          .collective = Collective::Gatherv, .root = root, .output_blocks = blocks, .options = std::move(options)}};
  set_buffers<T, Buffers::Elements, Input, Output>(typed, input, output);
  return typed;
}

/// output = block `rank` of the root's input, which has size() * output.size() elements.
template <class T = void, FirstBuffer Input, MayBeBufferBeforeRoot Output>
TypedCall scatter(Input&& input, Output&& output, Rank root = 0, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Scatter, .root = root, .options = std::move(options)}};
  set_buffers<T, Buffers::Elements, Input, Output>(typed, input, output);
  return typed;
}

/// A scatter with blocks of different lengths. Only the root's blocks count.
template <class T = void, FirstBuffer Input, MayBeBuffer Output>
TypedCall scatterv(Input&& input, const Blocks& blocks, Output&& output, Rank root = 0, Options options = {}) {
  TypedCall typed{
      .call = {
          .collective = Collective::Scatterv, .root = root, .input_blocks = blocks, .options = std::move(options)}};
  set_buffers<T, Buffers::Elements, Input, Output>(typed, input, output);
  return typed;
}

/// Block i of output = block `rank` of rank i's input. Both have size() blocks of equal length.
template <class T = void, FirstBuffer Input, MayBeBuffer Output>
TypedCall alltoall(Input&& input, Output&& output, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Alltoall, .options = std::move(options)}};
  set_buffers<T, Buffers::Elements, Input, Output>(typed, input, output);
  return typed;
}

/// An alltoall with blocks of different lengths. With `received` in the output's blocks, a rank need not know how much
/// the other ranks send to it.
template <class T = void, FirstBuffer Input, MayBeBuffer Output>
TypedCall alltoallv(Input&& input, const Blocks& input_blocks, Output&& output, const Blocks& output_blocks,
                    Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Alltoallv,
                           .input_blocks = input_blocks,
                           .output_blocks = output_blocks,
                           .options = std::move(options)}};
  set_buffers<T, Buffers::Elements, Input, Output>(typed, input, output);
  return typed;
}

/// output = the reduction of the inputs of ranks 0 .. rank. Avg is refused.
template <class T = void, FirstBuffer Input, MayBeBuffer Output>
TypedCall scan(Input&& input, Output&& output, AnyReduction reduction = {}, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Scan,
                           .reduction = reduction.reduction,
                           .options = std::move(options),
                           .own = reduction.own}};
  set_buffers<T, Buffers::Elements, Input, Output>(typed, input, output);
  return typed;
}

/// output = the reduction of the inputs of ranks 0 .. rank-1. On rank 0 it stays unchanged. Avg is refused.
template <class T = void, FirstBuffer Input, MayBeBuffer Output>
TypedCall exclusive_scan(Input&& input, Output&& output, AnyReduction reduction = {}, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::ExclusiveScan,
                           .reduction = reduction.reduction,
                           .options = std::move(options),
                           .own = reduction.own}};
  set_buffers<T, Buffers::Elements, Input, Output>(typed, input, output);
  return typed;
}

// The following functions make calls in place, with one buffer.

/// data = the reduction of the data of all ranks.
template <class T = void, FirstBuffer Data>
TypedCall allreduce(Data&& data, AnyReduction reduction = {}, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Allreduce,
                           .reduction = reduction.reduction,
                           .options = std::move(options),
                           .own = reduction.own}};
  set_buffer<T, Data>(typed, data);
  return typed;
}

/// Block `rank` of data = block `rank` of the reduction of all data. The other blocks stay as they are, or hold partial
/// sums.
template <class T = void, FirstBuffer Data>
TypedCall reduce_scatter(Data&& data, AnyReduction reduction = {}, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::ReduceScatter,
                           .reduction = reduction.reduction,
                           .options = std::move(options),
                           .own = reduction.own}};
  set_buffer<T, Data>(typed, data);
  return typed;
}

/// A reduce_scatter with blocks of different lengths.
template <class T = void, FirstBuffer Data>
TypedCall reduce_scatterv(Data&& data, const Blocks& blocks, AnyReduction reduction = {}, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::ReduceScatterv,
                           .reduction = reduction.reduction,
                           .input_blocks = blocks,
                           .options = std::move(options),
                           .own = reduction.own}};
  set_buffer<T, Data>(typed, data);
  return typed;
}

/// data = block r of each rank r.
template <class T = void, FirstBuffer Data>
TypedCall allgather(Data&& data, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Allgather, .options = std::move(options)}};
  set_buffer<T, Data>(typed, data);
  return typed;
}

/// An allgather with blocks of different lengths.
template <class T = void, FirstBuffer Data>
TypedCall allgatherv(Data&& data, const Blocks& blocks, Options options = {}) {
  TypedCall typed{
      .call = {.collective = Collective::Allgatherv, .output_blocks = blocks, .options = std::move(options)}};
  set_buffer<T, Data>(typed, data);
  return typed;
}

/// On the root, data = the reduction of the data of all ranks.
template <class T = void, FirstBuffer Data>
TypedCall reduce(Data&& data, Rank root = 0, AnyReduction reduction = {}, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Reduce,
                           .reduction = reduction.reduction,
                           .root = root,
                           .options = std::move(options),
                           .own = reduction.own}};
  set_buffer<T, Data>(typed, data);
  return typed;
}

/// On the root, data = block r of each rank r. On other ranks data is that block.
template <class T = void, FirstBuffer Data>
TypedCall gather(Data&& data, Rank root = 0, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Gather, .root = root, .options = std::move(options)}};
  set_buffer<T, Data>(typed, data);
  return typed;
}

/// On the root, data has a block for each rank, and stays. On other ranks data = block `rank` of it.
template <class T = void, FirstBuffer Data>
TypedCall scatter(Data&& data, Rank root = 0, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Scatter, .root = root, .options = std::move(options)}};
  set_buffer<T, Data>(typed, data);
  return typed;
}

/// Block i of data = block `rank` of rank i's data.
template <class T = void, FirstBuffer Data>
TypedCall alltoall(Data&& data, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Alltoall, .options = std::move(options)}};
  set_buffer<T, Data>(typed, data);
  return typed;
}

/// data = the reduction of the data of ranks 0 .. rank. Avg is refused.
template <class T = void, FirstBuffer Data>
TypedCall scan(Data&& data, AnyReduction reduction = {}, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::Scan,
                           .reduction = reduction.reduction,
                           .options = std::move(options),
                           .own = reduction.own}};
  set_buffer<T, Data>(typed, data);
  return typed;
}

/// data = the reduction of the data of ranks 0 .. rank-1. On rank 0 it stays unchanged. Avg is refused.
template <class T = void, FirstBuffer Data>
TypedCall exclusive_scan(Data&& data, AnyReduction reduction = {}, Options options = {}) {
  TypedCall typed{.call = {.collective = Collective::ExclusiveScan,
                           .reduction = reduction.reduction,
                           .options = std::move(options),
                           .own = reduction.own}};
  set_buffer<T, Data>(typed, data);
  return typed;
}

/// Ends after all ranks have called it.
inline TypedCall barrier(Options options = {}) {
  return {.call = {.collective = Collective::Barrier, .options = std::move(options)}};
}

}  // namespace lacuna
