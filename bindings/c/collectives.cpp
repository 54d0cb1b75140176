#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bindings/c/interface.hpp"
#include "runtime/method/method.hpp"
#include "runtime/values/count_of.hpp"

using namespace lacuna::c;
using lacuna::Code;
using lacuna::Collective;
using lacuna::Status;

namespace {

constexpr auto last_collective = static_cast<std::int32_t>(lacuna::collective_traits.size()) - 1;

Status read_blocks(const lacuna_blocks* given, std::size_t ranks, lacuna::Blocks& blocks) {
  lacuna_blocks value = LACUNA_BLOCKS_INIT;
  if (!given) return null_argument("blocks");
  if (Status valid = read(given, value); !valid) return valid;
  if (!value.counts) return null_argument("counts");
  blocks.counts = {value.counts, ranks};
  if (value.offsets) blocks.offsets = {value.offsets, ranks};
  if (value.received) blocks.received = {value.received, ranks};
  return {};
}

/// Reads the tables of the buffers that this rank has.
Status read_tables(const lacuna::Communicator& communicator, const lacuna_call& given, lacuna::Call& call) {
  const lacuna::CollectiveTraits& traits = lacuna::traits_of(call.collective);
  if (!lacuna::has_tables(call.collective)) return {};
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const bool in = lacuna::reads_input(call.collective, communicator.rank(), call.root);
  const bool out = lacuna::writes_output(call.collective, communicator.rank(), call.root);
  Status valid;
  if (in && traits.input == lacuna::Holds::Blocks) valid = read_blocks(given.input_blocks, ranks, call.input_blocks);
  if (!valid || !out || traits.output != lacuna::Holds::Blocks) return valid;
  return read_blocks(given.output_blocks, ranks, call.output_blocks);
}

/// Reads what a buffer of that many values says about its places. A list without entries is a list too.
Status read_places(const lacuna_entries* given, std::size_t values, lacuna_entries& entries) {
  static std::uint32_t none = 0;
  if (Status valid = read(given, entries); !valid) return valid;
  if (!entries.places && values > 0) return null_argument("places");
  if (!entries.places) entries.places = &none;
  return {};
}

/// How many entries of the call's method so many values make.
lacuna::Result<std::size_t> count_entries(const lacuna::Call& call, std::string_view name, std::size_t values) {
  const std::size_t length = std::max<std::size_t>(lacuna::entry_length(call.options.method), 1);
  if (values % length == 0) return values / length;
  return Status(lacuna::Code::InvalidArgument,
                fmt::format("the {} holds entries of {}: its count is {}, must be a multiple of that", name,
                            lacuna::count_of(length, "element"), values));
}

/// Where a buffer holds entries, its length becomes that of its data.
Status read_entries(const lacuna_call& given, lacuna::TypedCall& typed) {
  lacuna_entries input = LACUNA_ENTRIES_INIT, output = LACUNA_ENTRIES_INIT;
  const std::size_t length = std::max<std::size_t>(lacuna::entry_length(typed.call.options.method), 1);
  if (given.input_entries) {
    if (Status valid = read_places(given.input_entries, typed.input, input); !valid) return valid;
    const auto count = count_entries(typed.call, "input", std::exchange(typed.input, input.length));
    if (!count) return count.status();
    typed.call.input_entries = {input.places, *count, length};
  }
  if (given.output_entries) {
    if (Status valid = read_places(given.output_entries, typed.output, output); !valid) return valid;
    const auto room = count_entries(typed.call, "output", std::exchange(typed.output, output.length));
    if (!room) return room.status();
    typed.call.output_entries = {output.places, *room, output.found, length};
  }
  return {};
}

/// Fills a call from its buffers. A buffer that this rank does not have may be null.
Status read_buffers(const lacuna::Communicator& communicator, const lacuna_call& given, lacuna::TypedCall& typed) {
  lacuna::Call& call = typed.call;
  const bool reads = lacuna::reads_input(call.collective, communicator.rank(), call.root);
  const bool writes = lacuna::writes_output(call.collective, communicator.rank(), call.root);
  lacuna_buffer input = LACUNA_BUFFER_INIT, output = LACUNA_BUFFER_INIT;
  if (Status valid = reads ? read_buffer(given.input, "input", input) : Status(); !valid) return valid;
  if (Status valid = writes ? read_buffer(given.output, "output", output) : Status(); !valid) return valid;
  if (reads && writes && input.dtype != output.dtype) {
    return {Code::InvalidArgument, fmt::format("the input is of {}, the output of {}; they must be of one dtype",
                                               to_string(static_cast<lacuna::Dtype>(input.dtype)),
                                               to_string(static_cast<lacuna::Dtype>(output.dtype)))};
  }
  if (Status valid = read_tables(communicator, given, call); !valid) return valid;
  const lacuna_buffer& one = reads ? input : output;
  call.input = input.data;
  call.output = output.data;
  call.dtype = static_cast<lacuna::Dtype>(one.dtype);
  call.memory = memory_of(input);
  typed.output_memory = memory_of(output);
  typed.input = input.count;
  typed.output = output.count;
  return read_entries(given, typed);
}

/// Reads the reduction of the program's own, if the call names one.
Status read_own(const lacuna_call& given, lacuna::Call& call) {
  if (call.reduction != lacuna::Reduction::Own) return {};
  lacuna_own_reduction own = LACUNA_OWN_REDUCTION_INIT;
  if (!given.own) return null_argument("own");
  if (Status valid = read(given.own, own); !valid) return valid;
  call.own = {.function = own.function, .context = own.context, .id = own.id};
  return {};
}

/// Fills a call from its description.
Status read_call(const lacuna::Communicator& communicator, const lacuna_call* given, lacuna::TypedCall& typed) {
  lacuna_call value = LACUNA_CALL_INIT;
  if (!given) return null_argument("call");
  if (Status valid = read(given, value); !valid) return valid;
  if (Status valid = check_range("collective", value.collective, last_collective); !valid) return valid;
  lacuna::Call& call = typed.call;
  call.collective = static_cast<Collective>(value.collective);
  if (lacuna::traits_of(call.collective).reduces) {
    if (Status valid = check_range("reduction", value.reduction, LACUNA_OWN); !valid) return valid;
    call.reduction = static_cast<lacuna::Reduction>(value.reduction);
    if (Status valid = read_own(value, call); !valid) return valid;
  }
  if (lacuna::has_root(call.collective)) call.root = value.root;
  return read_buffers(communicator, value, typed);
}

/// The blocks of one buffer, as the functions of the single collectives take them.
struct Division {
  const size_t* counts = nullptr;
  const size_t* offsets = nullptr;
};

/// The arguments of the function of a single collective. What a collective does not have stays as it is here.
struct Line {
  const void* input = nullptr;
  void* output = nullptr;
  size_t count = 0;
  lacuna_dtype dtype = LACUNA_F32;
  lacuna_reduction reduction = LACUNA_SUM;
  int32_t root = 0;
  Division input_blocks{}, output_blocks{};
};

/// Reads the division of the buffer that has blocks, if this rank has that buffer.
Status read_division(bool has_buffer, lacuna::Holds holds, const Division& given, std::size_t ranks,
                     lacuna::Blocks& blocks) {
  if (!has_buffer || holds != lacuna::Holds::Blocks) return {};
  if (!given.counts) return null_argument("counts");
  blocks.counts = {given.counts, ranks};
  if (given.offsets) blocks.offsets = {given.offsets, ranks};
  return {};
}

Status read_divisions(const lacuna::Communicator& communicator, const Line& line, lacuna::Call& call) {
  const lacuna::CollectiveTraits& traits = lacuna::traits_of(call.collective);
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const bool reads = lacuna::reads_input(call.collective, communicator.rank(), call.root);
  const bool writes = lacuna::writes_output(call.collective, communicator.rank(), call.root);
  if (Status valid = read_division(reads, traits.input, line.input_blocks, ranks, call.input_blocks); !valid) {
    return valid;
  }
  if (Status valid = read_division(writes, traits.output, line.output_blocks, ranks, call.output_blocks); !valid) {
    return valid;
  }
  if (traits.lengths != lacuna::Lengths::Agreed) return {};
  const lacuna::Blocks& agreed = traits.input == lacuna::Holds::Blocks ? call.input_blocks : call.output_blocks;
  call.count = agreed.counts[static_cast<std::size_t>(communicator.rank())];
  return {};
}

/// Carries out a call of the function of a single collective.
lacuna_status carry_out(lacuna_communicator* communicator, Collective collective, const Line& line) {
  return guarded([&]() -> Status {
    if (!communicator) return null_argument("communicator");
    if (Status valid = check_dtype(line.dtype); !valid) return valid;
    if (line.reduction == LACUNA_OWN) {
      return {Code::InvalidArgument, "reduction is LACUNA_OWN, which needs a function: lacuna_execute() takes one"};
    }
    if (Status valid = check_range("reduction", line.reduction, LACUNA_PROD); !valid) return valid;
    lacuna::Call call{.collective = collective,
                      .input = line.input,
                      .output = line.output,
                      .count = line.count,
                      .dtype = static_cast<lacuna::Dtype>(line.dtype),
                      .reduction = static_cast<lacuna::Reduction>(line.reduction),
                      .root = line.root};
    if (lacuna::has_tables(collective)) {
      if (Status valid = read_divisions(communicator->communicator, line, call); !valid) return valid;
    }
    return communicator->communicator.call(call);
  });
}

}  // namespace

lacuna_status lacuna_execute(lacuna_communicator* communicator, const lacuna_call* call, const lacuna_options* options,
                             lacuna_request** request) {
  return guarded([&]() -> Status {
    if (!communicator) return null_argument("communicator");
    lacuna::TypedCall typed;
    if (Status valid = read_options(options, typed.call.options); !valid) return valid;
    if (Status valid = read_call(communicator->communicator, call, typed); !valid) return valid;
    const bool prepare = prepares(options);
    if (prepare && !request) return null_argument("request");
    lacuna::Communicator& ranks = communicator->communicator;
    if (!request) return ranks.call(std::move(typed));
    const auto give = [&](auto made) {
      if (made) *request = new lacuna_request{*std::move(made)};
      return made.status();
    };
    return prepare ? give(ranks.prepare(std::move(typed))) : give(ranks.start(std::move(typed)));
  });
}

lacuna_status lacuna_allreduce(lacuna_communicator* communicator, const void* input, void* output, size_t count,
                               lacuna_dtype dtype, lacuna_reduction reduction) {
  return carry_out(communicator, Collective::Allreduce, {input, output, count, dtype, reduction});
}

lacuna_status lacuna_reduce_scatter(lacuna_communicator* communicator, const void* input, void* output, size_t count,
                                    lacuna_dtype dtype, lacuna_reduction reduction) {
  return carry_out(communicator, Collective::ReduceScatter, {input, output, count, dtype, reduction});
}

lacuna_status lacuna_allgather(lacuna_communicator* communicator, const void* input, void* output, size_t count,
                               lacuna_dtype dtype) {
  return carry_out(communicator, Collective::Allgather, {input, output, count, dtype});
}

lacuna_status lacuna_broadcast(lacuna_communicator* communicator, void* data, size_t count, lacuna_dtype dtype,
                               int32_t root) {
  return carry_out(communicator, Collective::Broadcast, {data, data, count, dtype, LACUNA_SUM, root});
}

lacuna_status lacuna_reduce(lacuna_communicator* communicator, const void* input, void* output, size_t count,
                            lacuna_dtype dtype, lacuna_reduction reduction, int32_t root) {
  return carry_out(communicator, Collective::Reduce, {input, output, count, dtype, reduction, root});
}

lacuna_status lacuna_gather(lacuna_communicator* communicator, const void* input, void* output, size_t count,
                            lacuna_dtype dtype, int32_t root) {
  return carry_out(communicator, Collective::Gather, {input, output, count, dtype, LACUNA_SUM, root});
}

lacuna_status lacuna_scatter(lacuna_communicator* communicator, const void* input, void* output, size_t count,
                             lacuna_dtype dtype, int32_t root) {
  return carry_out(communicator, Collective::Scatter, {input, output, count, dtype, LACUNA_SUM, root});
}

lacuna_status lacuna_alltoall(lacuna_communicator* communicator, const void* input, void* output, size_t count,
                              lacuna_dtype dtype) {
  return carry_out(communicator, Collective::Alltoall, {input, output, count, dtype});
}

lacuna_status lacuna_scan(lacuna_communicator* communicator, const void* input, void* output, size_t count,
                          lacuna_dtype dtype, lacuna_reduction reduction) {
  return carry_out(communicator, Collective::Scan, {input, output, count, dtype, reduction});
}

lacuna_status lacuna_exclusive_scan(lacuna_communicator* communicator, const void* input, void* output, size_t count,
                                    lacuna_dtype dtype, lacuna_reduction reduction) {
  return carry_out(communicator, Collective::ExclusiveScan, {input, output, count, dtype, reduction});
}

lacuna_status lacuna_reduce_scatterv(lacuna_communicator* communicator, const void* input, const size_t* counts,
                                     const size_t* offsets, void* output, lacuna_dtype dtype,
                                     lacuna_reduction reduction) {
  return carry_out(communicator, Collective::ReduceScatterv,
                   {input, output, 0, dtype, reduction, 0, {counts, offsets}});
}

lacuna_status lacuna_allgatherv(lacuna_communicator* communicator, const void* input, void* output,
                                const size_t* counts, const size_t* offsets, lacuna_dtype dtype) {
  return carry_out(communicator, Collective::Allgatherv,
                   {input, output, 0, dtype, LACUNA_SUM, 0, {}, {counts, offsets}});
}

lacuna_status lacuna_gatherv(lacuna_communicator* communicator, const void* input, size_t count, void* output,
                             const size_t* counts, const size_t* offsets, lacuna_dtype dtype, int32_t root) {
  return carry_out(communicator, Collective::Gatherv,
                   {input, output, count, dtype, LACUNA_SUM, root, {}, {counts, offsets}});
}

lacuna_status lacuna_scatterv(lacuna_communicator* communicator, const void* input, const size_t* counts,
                              const size_t* offsets, void* output, size_t count, lacuna_dtype dtype, int32_t root) {
  return carry_out(communicator, Collective::Scatterv,
                   {input, output, count, dtype, LACUNA_SUM, root, {counts, offsets}});
}

lacuna_status lacuna_alltoallv(lacuna_communicator* communicator, const void* input, const size_t* input_counts,
                               const size_t* input_offsets, void* output, const size_t* output_counts,
                               const size_t* output_offsets, lacuna_dtype dtype) {
  return carry_out(
      communicator, Collective::Alltoallv,
      {input, output, 0, dtype, LACUNA_SUM, 0, {input_counts, input_offsets}, {output_counts, output_offsets}});
}

lacuna_status lacuna_barrier(lacuna_communicator* communicator) {
  return carry_out(communicator, Collective::Barrier, {});
}
