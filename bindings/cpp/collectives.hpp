#pragma once

#include <type_traits>
#include <utility>

#include "bindings/cpp/reductions.hpp"
#include "bindings/cpp/typed_call.hpp"

// For each collective, a function that makes a TypedCall of it.
namespace lacuna {

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
