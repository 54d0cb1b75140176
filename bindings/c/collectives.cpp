#include "bindings/c/interface.hpp"

using namespace lacuna::c;
using lacuna::Code;
using lacuna::Collective;
using lacuna::Status;

namespace {

/// What the caller of a collective gives; one without root or reduction ignores it.
struct Arguments {
  const lacuna_buffer* input = nullptr;
  const lacuna_buffer* output = nullptr;
  lacuna_reduction reduction = LACUNA_SUM;
  int32_t root = 0;
  const lacuna_blocks* input_blocks = nullptr;
  const lacuna_blocks* output_blocks = nullptr;
};

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

/// The tables of the buffers that this rank has.
Status read_tables(const lacuna::Communicator& communicator, const Arguments& given, lacuna::Call& call) {
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

/// Fills a call from its buffers; one that this rank does not have may be null.
Status read_buffers(const lacuna::Communicator& communicator, const Arguments& given, lacuna::TypedCall& typed) {
  lacuna::Call& call = typed.call;
  const bool reads = lacuna::reads_input(call.collective, communicator.rank(), call.root);
  const bool writes = lacuna::writes_output(call.collective, communicator.rank(), call.root);
  lacuna_buffer input = LACUNA_BUFFER_INIT, output = LACUNA_BUFFER_INIT;
  if (Status valid = reads ? read_buffer(given.input, "input", input) : Status(); !valid) return valid;
  if (Status valid = writes ? read_buffer(given.output, "output", output) : Status(); !valid) return valid;
  if (Status alike = reads && writes ? check_alike(input, output) : Status(); !alike) return alike;
  if (Status valid = read_tables(communicator, given, call); !valid) return valid;
  const lacuna_buffer& one = reads ? input : output;
  call.input = input.data;
  call.output = output.data;
  call.dtype = static_cast<lacuna::Dtype>(one.dtype);
  call.memory = memory_of(one);
  typed.input = input.places ? input.length : input.count;
  typed.output = output.places ? output.length : output.count;
  if (input.places) call.input_entries = {input.places, input.count};
  if (output.places) call.output_entries = {output.places, output.count, output.entries};
  return {};
}

/// Every collective: with a request it is started or prepared, without one it is carried out.
lacuna_status collective(lacuna_communicator* communicator, Collective what, const Arguments& given,
                         const lacuna_options* options, lacuna_request** request) {
  return guarded([&]() -> Status {
    if (!communicator) return null_argument("communicator");
    lacuna::TypedCall typed{.call = {.collective = what, .root = given.root}};
    if (Status valid = check_range("reduction", given.reduction, LACUNA_PROD); !valid) return valid;
    typed.call.reduction = static_cast<lacuna::Reduction>(given.reduction);
    if (Status valid = read_options(options, typed.call.options); !valid) return valid;
    if (Status valid = read_buffers(communicator->communicator, given, typed); !valid) return valid;
    const bool prepare = prepares(options);
    if (prepare && !request) return null_argument("request");
    lacuna::Communicator& ranks = communicator->communicator;
    if (!request) return ranks.call(std::move(typed));
    auto made = prepare ? ranks.prepare(std::move(typed)) : ranks.start(std::move(typed));
    if (!made) return made.status();
    *request = new lacuna_request{std::move(*made)};
    return {};
  });
}

}  // namespace

lacuna_status lacuna_allreduce(lacuna_communicator* communicator, const lacuna_buffer* input,
                               const lacuna_buffer* output, lacuna_reduction reduction, const lacuna_options* options,
                               lacuna_request** request) {
  return collective(communicator, Collective::Allreduce, {input, output, reduction}, options, request);
}

lacuna_status lacuna_reduce_scatter(lacuna_communicator* communicator, const lacuna_buffer* input,
                                    const lacuna_buffer* output, lacuna_reduction reduction,
                                    const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::ReduceScatter, {input, output, reduction}, options, request);
}

lacuna_status lacuna_allgather(lacuna_communicator* communicator, const lacuna_buffer* input,
                               const lacuna_buffer* output, const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Allgather, {input, output}, options, request);
}

lacuna_status lacuna_broadcast(lacuna_communicator* communicator, const lacuna_buffer* data, int32_t root,
                               const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Broadcast, {data, data, LACUNA_SUM, root}, options, request);
}

lacuna_status lacuna_reduce(lacuna_communicator* communicator, const lacuna_buffer* input, const lacuna_buffer* output,
                            lacuna_reduction reduction, int32_t root, const lacuna_options* options,
                            lacuna_request** request) {
  return collective(communicator, Collective::Reduce, {input, output, reduction, root}, options, request);
}

lacuna_status lacuna_gather(lacuna_communicator* communicator, const lacuna_buffer* input, const lacuna_buffer* output,
                            int32_t root, const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Gather, {input, output, LACUNA_SUM, root}, options, request);
}

lacuna_status lacuna_scatter(lacuna_communicator* communicator, const lacuna_buffer* input, const lacuna_buffer* output,
                             int32_t root, const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Scatter, {input, output, LACUNA_SUM, root}, options, request);
}

lacuna_status lacuna_alltoall(lacuna_communicator* communicator, const lacuna_buffer* input,
                              const lacuna_buffer* output, const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Alltoall, {input, output}, options, request);
}

lacuna_status lacuna_scan(lacuna_communicator* communicator, const lacuna_buffer* input, const lacuna_buffer* output,
                          lacuna_reduction reduction, const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Scan, {input, output, reduction}, options, request);
}

lacuna_status lacuna_exclusive_scan(lacuna_communicator* communicator, const lacuna_buffer* input,
                                    const lacuna_buffer* output, lacuna_reduction reduction,
                                    const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::ExclusiveScan, {input, output, reduction}, options, request);
}

lacuna_status lacuna_reduce_scatterv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                     const lacuna_blocks* blocks, const lacuna_buffer* output,
                                     lacuna_reduction reduction, const lacuna_options* options,
                                     lacuna_request** request) {
  return collective(communicator, Collective::ReduceScatterv, {input, output, reduction, 0, blocks}, options, request);
}

lacuna_status lacuna_allgatherv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                const lacuna_buffer* output, const lacuna_blocks* blocks, const lacuna_options* options,
                                lacuna_request** request) {
  return collective(communicator, Collective::Allgatherv, {input, output, LACUNA_SUM, 0, nullptr, blocks}, options,
                    request);
}

lacuna_status lacuna_gatherv(lacuna_communicator* communicator, const lacuna_buffer* input, const lacuna_buffer* output,
                             const lacuna_blocks* blocks, int32_t root, const lacuna_options* options,
                             lacuna_request** request) {
  return collective(communicator, Collective::Gatherv, {input, output, LACUNA_SUM, root, nullptr, blocks}, options,
                    request);
}

lacuna_status lacuna_scatterv(lacuna_communicator* communicator, const lacuna_buffer* input,
                              const lacuna_blocks* blocks, const lacuna_buffer* output, int32_t root,
                              const lacuna_options* options, lacuna_request** request) {
  return collective(communicator, Collective::Scatterv, {input, output, LACUNA_SUM, root, blocks}, options, request);
}

lacuna_status lacuna_alltoallv(lacuna_communicator* communicator, const lacuna_buffer* input,
                               const lacuna_blocks* input_blocks, const lacuna_buffer* output,
                               const lacuna_blocks* output_blocks, const lacuna_options* options,
                               lacuna_request** request) {
  return collective(communicator, Collective::Alltoallv, {input, output, LACUNA_SUM, 0, input_blocks, output_blocks},
                    options, request);
}

lacuna_status lacuna_barrier(lacuna_communicator* communicator, const lacuna_options* options,
                             lacuna_request** request) {
  return collective(communicator, Collective::Barrier, {}, options, request);
}
