#pragma once

#include "bindings/c/lacuna.h"

/* Makes calls from their description in one line each. The tests of lacuna_execute() use this. */

static inline lacuna_status execute_reducing(lacuna_communicator* communicator, lacuna_collective collective,
                                             const lacuna_buffer* input, const lacuna_buffer* output,
                                             lacuna_reduction reduction, const lacuna_options* options,
                                             lacuna_request** request) {
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = collective;
  call.reduction = reduction;
  call.input = input;
  call.output = output;
  return lacuna_execute(communicator, &call, options, request);
}

static inline lacuna_status execute_allreduce(lacuna_communicator* communicator, const lacuna_buffer* input,
                                              const lacuna_buffer* output, lacuna_reduction reduction,
                                              const lacuna_options* options, lacuna_request** request) {
  return execute_reducing(communicator, LACUNA_ALLREDUCE, input, output, reduction, options, request);
}

static inline lacuna_status execute_reduce_scatter(lacuna_communicator* communicator, const lacuna_buffer* input,
                                                   const lacuna_buffer* output, lacuna_reduction reduction,
                                                   const lacuna_options* options, lacuna_request** request) {
  return execute_reducing(communicator, LACUNA_REDUCE_SCATTER, input, output, reduction, options, request);
}

static inline lacuna_status execute_scan(lacuna_communicator* communicator, const lacuna_buffer* input,
                                         const lacuna_buffer* output, lacuna_reduction reduction,
                                         const lacuna_options* options, lacuna_request** request) {
  return execute_reducing(communicator, LACUNA_SCAN, input, output, reduction, options, request);
}

static inline lacuna_status execute_exclusive_scan(lacuna_communicator* communicator, const lacuna_buffer* input,
                                                   const lacuna_buffer* output, lacuna_reduction reduction,
                                                   const lacuna_options* options, lacuna_request** request) {
  return execute_reducing(communicator, LACUNA_EXCLUSIVE_SCAN, input, output, reduction, options, request);
}

static inline lacuna_status execute_allgather(lacuna_communicator* communicator, const lacuna_buffer* input,
                                              const lacuna_buffer* output, const lacuna_options* options,
                                              lacuna_request** request) {
  return execute_reducing(communicator, LACUNA_ALLGATHER, input, output, LACUNA_SUM, options, request);
}

static inline lacuna_status execute_alltoall(lacuna_communicator* communicator, const lacuna_buffer* input,
                                             const lacuna_buffer* output, const lacuna_options* options,
                                             lacuna_request** request) {
  return execute_reducing(communicator, LACUNA_ALLTOALL, input, output, LACUNA_SUM, options, request);
}

static inline lacuna_status execute_barrier(lacuna_communicator* communicator, const lacuna_options* options,
                                            lacuna_request** request) {
  return execute_reducing(communicator, LACUNA_BARRIER, NULL, NULL, LACUNA_SUM, options, request);
}

static inline lacuna_status execute_broadcast(lacuna_communicator* communicator, const lacuna_buffer* data,
                                              int32_t root, const lacuna_options* options, lacuna_request** request) {
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_BROADCAST;
  call.root = root;
  call.input = data;
  call.output = data;
  return lacuna_execute(communicator, &call, options, request);
}

static inline lacuna_status execute_reduce(lacuna_communicator* communicator, const lacuna_buffer* input,
                                           const lacuna_buffer* output, lacuna_reduction reduction, int32_t root,
                                           const lacuna_options* options, lacuna_request** request) {
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_REDUCE;
  call.reduction = reduction;
  call.root = root;
  call.input = input;
  call.output = output;
  return lacuna_execute(communicator, &call, options, request);
}

static inline lacuna_status execute_gather(lacuna_communicator* communicator, const lacuna_buffer* input,
                                           const lacuna_buffer* output, int32_t root, const lacuna_options* options,
                                           lacuna_request** request) {
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_GATHER;
  call.root = root;
  call.input = input;
  call.output = output;
  return lacuna_execute(communicator, &call, options, request);
}

static inline lacuna_status execute_scatter(lacuna_communicator* communicator, const lacuna_buffer* input,
                                            const lacuna_buffer* output, int32_t root, const lacuna_options* options,
                                            lacuna_request** request) {
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_SCATTER;
  call.root = root;
  call.input = input;
  call.output = output;
  return lacuna_execute(communicator, &call, options, request);
}

static inline lacuna_status execute_reduce_scatterv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                                    const lacuna_blocks* blocks, const lacuna_buffer* output,
                                                    lacuna_reduction reduction, const lacuna_options* options,
                                                    lacuna_request** request) {
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_REDUCE_SCATTERV;
  call.reduction = reduction;
  call.input = input;
  call.output = output;
  call.input_blocks = blocks;
  return lacuna_execute(communicator, &call, options, request);
}

static inline lacuna_status execute_allgatherv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                               const lacuna_buffer* output, const lacuna_blocks* blocks,
                                               const lacuna_options* options, lacuna_request** request) {
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_ALLGATHERV;
  call.input = input;
  call.output = output;
  call.output_blocks = blocks;
  return lacuna_execute(communicator, &call, options, request);
}

static inline lacuna_status execute_gatherv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                            const lacuna_buffer* output, const lacuna_blocks* blocks, int32_t root,
                                            const lacuna_options* options, lacuna_request** request) {
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_GATHERV;
  call.root = root;
  call.input = input;
  call.output = output;
  call.output_blocks = blocks;
  return lacuna_execute(communicator, &call, options, request);
}

static inline lacuna_status execute_scatterv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                             const lacuna_blocks* blocks, const lacuna_buffer* output, int32_t root,
                                             const lacuna_options* options, lacuna_request** request) {
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_SCATTERV;
  call.root = root;
  call.input = input;
  call.output = output;
  call.input_blocks = blocks;
  return lacuna_execute(communicator, &call, options, request);
}

static inline lacuna_status execute_alltoallv(lacuna_communicator* communicator, const lacuna_buffer* input,
                                              const lacuna_blocks* input_blocks, const lacuna_buffer* output,
                                              const lacuna_blocks* output_blocks, const lacuna_options* options,
                                              lacuna_request** request) {
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_ALLTOALLV;
  call.input = input;
  call.output = output;
  call.input_blocks = input_blocks;
  call.output_blocks = output_blocks;
  return lacuna_execute(communicator, &call, options, request);
}
