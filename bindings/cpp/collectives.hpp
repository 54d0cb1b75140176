#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "bindings/cpp/request.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna {

template <class T>
struct DtypeOf;  // the element types that the typed calls take
template <>
struct DtypeOf<float> : std::integral_constant<Dtype, Dtype::F32> {};
template <>
struct DtypeOf<double> : std::integral_constant<Dtype, Dtype::F64> {};
template <>
struct DtypeOf<std::int32_t> : std::integral_constant<Dtype, Dtype::I32> {};
template <>
struct DtypeOf<std::int64_t> : std::integral_constant<Dtype, Dtype::I64> {};
template <>
struct DtypeOf<std::uint8_t> : std::integral_constant<Dtype, Dtype::U8> {};

/// The typed calls of a communicator. The plain name waits for the call's end, start_... returns its Request, and
/// prepare_... one that Request::start starts, any number of times. Spans whose lengths do not fit together are an
/// error, and nothing is sent; where there are tables of blocks, a span may be longer. `root` stands where a buffer is
/// the root's only: the other ranks may pass an empty span for it.
template <class Communicator>
class TypedCollectives {
 public:
  /// output = the reduction of all inputs; equal bits on all ranks.
  template <class T>
  Status allreduce(std::span<const T> input, std::span<T> output, Reduction reduction = Reduction::Sum,
                   Options options = {}) {
    return run(call_of<T>({.collective = Collective::Allreduce, .reduction = reduction, .options = std::move(options)},
                          input, output));
  }
  template <class T>
  Result<Request> start_allreduce(std::span<const T> input, std::span<T> output, Reduction reduction = Reduction::Sum,
                                  Options options = {}) {
    return start(call_of<T>(
        {.collective = Collective::Allreduce, .reduction = reduction, .options = std::move(options)}, input, output));
  }
  template <class T>
  Result<Request> prepare_allreduce(std::span<const T> input, std::span<T> output, Reduction reduction = Reduction::Sum,
                                    Options options = {}) {
    return prepare(call_of<T>(
        {.collective = Collective::Allreduce, .reduction = reduction, .options = std::move(options)}, input, output));
  }
  /// output = block `rank` of the reduction of all inputs. input has size() * output.size() elements.
  template <class T>
  Status reduce_scatter(std::span<const T> input, std::span<T> output, Reduction reduction = Reduction::Sum,
                        Options options = {}) {
    return run(
        call_of<T>({.collective = Collective::ReduceScatter, .reduction = reduction, .options = std::move(options)},
                   input, output));
  }
  template <class T>
  Result<Request> start_reduce_scatter(std::span<const T> input, std::span<T> output,
                                       Reduction reduction = Reduction::Sum, Options options = {}) {
    return start(
        call_of<T>({.collective = Collective::ReduceScatter, .reduction = reduction, .options = std::move(options)},
                   input, output));
  }
  template <class T>
  Result<Request> prepare_reduce_scatter(std::span<const T> input, std::span<T> output,
                                         Reduction reduction = Reduction::Sum, Options options = {}) {
    return prepare(
        call_of<T>({.collective = Collective::ReduceScatter, .reduction = reduction, .options = std::move(options)},
                   input, output));
  }
  /// The same with blocks of different lengths in the input; all ranks give the same counts.
  template <class T>
  Status reduce_scatterv(std::span<const T> input, const Blocks& blocks, std::span<T> output,
                         Reduction reduction = Reduction::Sum, Options options = {}) {
    return run(call_of<T>({.collective = Collective::ReduceScatterv,
                           .reduction = reduction,
                           .input_blocks = blocks,
                           .options = std::move(options)},
                          input, output));
  }
  template <class T>
  Result<Request> start_reduce_scatterv(std::span<const T> input, const Blocks& blocks, std::span<T> output,
                                        Reduction reduction = Reduction::Sum, Options options = {}) {
    return start(call_of<T>({.collective = Collective::ReduceScatterv,
                             .reduction = reduction,
                             .input_blocks = blocks,
                             .options = std::move(options)},
                            input, output));
  }
  template <class T>
  Result<Request> prepare_reduce_scatterv(std::span<const T> input, const Blocks& blocks, std::span<T> output,
                                          Reduction reduction = Reduction::Sum, Options options = {}) {
    return prepare(call_of<T>({.collective = Collective::ReduceScatterv,
                               .reduction = reduction,
                               .input_blocks = blocks,
                               .options = std::move(options)},
                              input, output));
  }
  /// output = the inputs of all ranks, by rank. output has size() * input.size() elements.
  template <class T>
  Status allgather(std::span<const T> input, std::span<T> output, Options options = {}) {
    return run(call_of<T>({.collective = Collective::Allgather, .options = std::move(options)}, input, output));
  }
  template <class T>
  Result<Request> start_allgather(std::span<const T> input, std::span<T> output, Options options = {}) {
    return start(call_of<T>({.collective = Collective::Allgather, .options = std::move(options)}, input, output));
  }
  template <class T>
  Result<Request> prepare_allgather(std::span<const T> input, std::span<T> output, Options options = {}) {
    return prepare(call_of<T>({.collective = Collective::Allgather, .options = std::move(options)}, input, output));
  }
  /// The same with inputs of different lengths; all ranks give the same counts.
  template <class T>
  Status allgatherv(std::span<const T> input, std::span<T> output, const Blocks& blocks, Options options = {}) {
    return run(call_of<T>(
        {.collective = Collective::Allgatherv, .output_blocks = blocks, .options = std::move(options)}, input, output));
  }
  template <class T>
  Result<Request> start_allgatherv(std::span<const T> input, std::span<T> output, const Blocks& blocks,
                                   Options options = {}) {
    return start(call_of<T>(
        {.collective = Collective::Allgatherv, .output_blocks = blocks, .options = std::move(options)}, input, output));
  }
  template <class T>
  Result<Request> prepare_allgatherv(std::span<const T> input, std::span<T> output, const Blocks& blocks,
                                     Options options = {}) {
    return prepare(call_of<T>(
        {.collective = Collective::Allgatherv, .output_blocks = blocks, .options = std::move(options)}, input, output));
  }
  /// data = the root's data, on all ranks.
  template <class T>
  Status broadcast(std::span<T> data, Rank root = 0, Options options = {}) {
    return run(
        call_of<T>({.collective = Collective::Broadcast, .root = root, .options = std::move(options)}, data, data));
  }
  template <class T>
  Result<Request> start_broadcast(std::span<T> data, Rank root = 0, Options options = {}) {
    return start(
        call_of<T>({.collective = Collective::Broadcast, .root = root, .options = std::move(options)}, data, data));
  }
  template <class T>
  Result<Request> prepare_broadcast(std::span<T> data, Rank root = 0, Options options = {}) {
    return prepare(
        call_of<T>({.collective = Collective::Broadcast, .root = root, .options = std::move(options)}, data, data));
  }
  /// On the root, output = the reduction of all inputs.
  template <class T>
  Status reduce(std::span<const T> input, std::span<T> output, Rank root = 0, Reduction reduction = Reduction::Sum,
                Options options = {}) {
    return run(call_of<T>(
        {.collective = Collective::Reduce, .reduction = reduction, .root = root, .options = std::move(options)}, input,
        output));
  }
  template <class T>
  Result<Request> start_reduce(std::span<const T> input, std::span<T> output, Rank root = 0,
                               Reduction reduction = Reduction::Sum, Options options = {}) {
    return start(call_of<T>(
        {.collective = Collective::Reduce, .reduction = reduction, .root = root, .options = std::move(options)}, input,
        output));
  }
  template <class T>
  Result<Request> prepare_reduce(std::span<const T> input, std::span<T> output, Rank root = 0,
                                 Reduction reduction = Reduction::Sum, Options options = {}) {
    return prepare(call_of<T>(
        {.collective = Collective::Reduce, .reduction = reduction, .root = root, .options = std::move(options)}, input,
        output));
  }
  /// On the root, output = the inputs of all ranks, by rank: size() * input.size() elements.
  template <class T>
  Status gather(std::span<const T> input, std::span<T> output, Rank root = 0, Options options = {}) {
    return run(
        call_of<T>({.collective = Collective::Gather, .root = root, .options = std::move(options)}, input, output));
  }
  template <class T>
  Result<Request> start_gather(std::span<const T> input, std::span<T> output, Rank root = 0, Options options = {}) {
    return start(
        call_of<T>({.collective = Collective::Gather, .root = root, .options = std::move(options)}, input, output));
  }
  template <class T>
  Result<Request> prepare_gather(std::span<const T> input, std::span<T> output, Rank root = 0, Options options = {}) {
    return prepare(
        call_of<T>({.collective = Collective::Gather, .root = root, .options = std::move(options)}, input, output));
  }
  /// The same with inputs of different lengths. Only the root's blocks are looked at; with `received`, it need not know
  /// the lengths.
  template <class T>
  Status gatherv(std::span<const T> input, std::span<T> output, const Blocks& blocks, Rank root = 0,
                 Options options = {}) {
    return run(call_of<T>(
        {.collective = Collective::Gatherv, .root = root, .output_blocks = blocks, .options = std::move(options)},
        input, output));
  }
  template <class T>
  Result<Request> start_gatherv(std::span<const T> input, std::span<T> output, const Blocks& blocks, Rank root = 0,
                                Options options = {}) {
    return start(call_of<T>(
        {.collective = Collective::Gatherv, .root = root, .output_blocks = blocks, .options = std::move(options)},
        input, output));
  }
  template <class T>
  Result<Request> prepare_gatherv(std::span<const T> input, std::span<T> output, const Blocks& blocks, Rank root = 0,
                                  Options options = {}) {
    return prepare(call_of<T>(
        {.collective = Collective::Gatherv, .root = root, .output_blocks = blocks, .options = std::move(options)},
        input, output));
  }
  /// output = block `rank` of the root's input, which has size() * output.size() elements.
  template <class T>
  Status scatter(std::span<const T> input, std::span<T> output, Rank root = 0, Options options = {}) {
    return run(
        call_of<T>({.collective = Collective::Scatter, .root = root, .options = std::move(options)}, input, output));
  }
  template <class T>
  Result<Request> start_scatter(std::span<const T> input, std::span<T> output, Rank root = 0, Options options = {}) {
    return start(
        call_of<T>({.collective = Collective::Scatter, .root = root, .options = std::move(options)}, input, output));
  }
  template <class T>
  Result<Request> prepare_scatter(std::span<const T> input, std::span<T> output, Rank root = 0, Options options = {}) {
    return prepare(
        call_of<T>({.collective = Collective::Scatter, .root = root, .options = std::move(options)}, input, output));
  }
  /// The same with blocks of different lengths, of which only the root's are looked at.
  template <class T>
  Status scatterv(std::span<const T> input, const Blocks& blocks, std::span<T> output, Rank root = 0,
                  Options options = {}) {
    return run(call_of<T>(
        {.collective = Collective::Scatterv, .root = root, .input_blocks = blocks, .options = std::move(options)},
        input, output));
  }
  template <class T>
  Result<Request> start_scatterv(std::span<const T> input, const Blocks& blocks, std::span<T> output, Rank root = 0,
                                 Options options = {}) {
    return start(call_of<T>(
        {.collective = Collective::Scatterv, .root = root, .input_blocks = blocks, .options = std::move(options)},
        input, output));
  }
  template <class T>
  Result<Request> prepare_scatterv(std::span<const T> input, const Blocks& blocks, std::span<T> output, Rank root = 0,
                                   Options options = {}) {
    return prepare(call_of<T>(
        {.collective = Collective::Scatterv, .root = root, .input_blocks = blocks, .options = std::move(options)},
        input, output));
  }
  /// Block i of output = block `rank` of rank i's input. Both have size() blocks of equal length.
  template <class T>
  Status alltoall(std::span<const T> input, std::span<T> output, Options options = {}) {
    return run(call_of<T>({.collective = Collective::Alltoall, .options = std::move(options)}, input, output));
  }
  template <class T>
  Result<Request> start_alltoall(std::span<const T> input, std::span<T> output, Options options = {}) {
    return start(call_of<T>({.collective = Collective::Alltoall, .options = std::move(options)}, input, output));
  }
  template <class T>
  Result<Request> prepare_alltoall(std::span<const T> input, std::span<T> output, Options options = {}) {
    return prepare(call_of<T>({.collective = Collective::Alltoall, .options = std::move(options)}, input, output));
  }
  /// The same with blocks of different lengths. With `received` in the output's blocks, a rank need not know how much
  /// the others send to it.
  template <class T>
  Status alltoallv(std::span<const T> input, const Blocks& input_blocks, std::span<T> output,
                   const Blocks& output_blocks, Options options = {}) {
    return run(call_of<T>({.collective = Collective::Alltoallv,
                           .input_blocks = input_blocks,
                           .output_blocks = output_blocks,
                           .options = std::move(options)},
                          input, output));
  }
  template <class T>
  Result<Request> start_alltoallv(std::span<const T> input, const Blocks& input_blocks, std::span<T> output,
                                  const Blocks& output_blocks, Options options = {}) {
    return start(call_of<T>({.collective = Collective::Alltoallv,
                             .input_blocks = input_blocks,
                             .output_blocks = output_blocks,
                             .options = std::move(options)},
                            input, output));
  }
  template <class T>
  Result<Request> prepare_alltoallv(std::span<const T> input, const Blocks& input_blocks, std::span<T> output,
                                    const Blocks& output_blocks, Options options = {}) {
    return prepare(call_of<T>({.collective = Collective::Alltoallv,
                               .input_blocks = input_blocks,
                               .output_blocks = output_blocks,
                               .options = std::move(options)},
                              input, output));
  }
  /// output = the reduction of the inputs of ranks 0 .. rank. Avg is refused.
  template <class T>
  Status scan(std::span<const T> input, std::span<T> output, Reduction reduction = Reduction::Sum,
              Options options = {}) {
    return run(call_of<T>({.collective = Collective::Scan, .reduction = reduction, .options = std::move(options)},
                          input, output));
  }
  template <class T>
  Result<Request> start_scan(std::span<const T> input, std::span<T> output, Reduction reduction = Reduction::Sum,
                             Options options = {}) {
    return start(call_of<T>({.collective = Collective::Scan, .reduction = reduction, .options = std::move(options)},
                            input, output));
  }
  template <class T>
  Result<Request> prepare_scan(std::span<const T> input, std::span<T> output, Reduction reduction = Reduction::Sum,
                               Options options = {}) {
    return prepare(call_of<T>({.collective = Collective::Scan, .reduction = reduction, .options = std::move(options)},
                              input, output));
  }
  /// output = the reduction of the inputs of ranks 0 .. rank-1; unchanged on rank 0. Avg is refused.
  template <class T>
  Status exclusive_scan(std::span<const T> input, std::span<T> output, Reduction reduction = Reduction::Sum,
                        Options options = {}) {
    return run(
        call_of<T>({.collective = Collective::ExclusiveScan, .reduction = reduction, .options = std::move(options)},
                   input, output));
  }
  template <class T>
  Result<Request> start_exclusive_scan(std::span<const T> input, std::span<T> output,
                                       Reduction reduction = Reduction::Sum, Options options = {}) {
    return start(
        call_of<T>({.collective = Collective::ExclusiveScan, .reduction = reduction, .options = std::move(options)},
                   input, output));
  }
  template <class T>
  Result<Request> prepare_exclusive_scan(std::span<const T> input, std::span<T> output,
                                         Reduction reduction = Reduction::Sum, Options options = {}) {
    return prepare(
        call_of<T>({.collective = Collective::ExclusiveScan, .reduction = reduction, .options = std::move(options)},
                   input, output));
  }

 private:
  template <class T>
  Result<Call> call_of(Call call, std::span<const T> input, std::span<T> output) const {
    call.input = input.data();
    call.output = output.data();
    call.dtype = DtypeOf<T>::value;
    const auto count = static_cast<const Communicator&>(*this).count_of(call, input.size(), output.size());
    if (!count) return count.status();
    call.count = *count;
    return call;
  }
  Status run(const Result<Call>& call) { return call ? communicator().run(*call) : call.status(); }
  Result<Request> start(const Result<Call>& call) {
    if (!call) return call.status();
    return communicator().start(*call);
  }
  Result<Request> prepare(const Result<Call>& call) {
    if (!call) return call.status();
    return communicator().prepare(*call);
  }
  Communicator& communicator() { return static_cast<Communicator&>(*this); }
};

}  // namespace lacuna
