/*
 * lacuna from C: start an allreduce that leaves out part of the sum (SkipReduce), compute meanwhile, then wait.
 *   lacuna launch -n 4 ./example_overlap
 */
#include <lacuna/lacuna.h>
#include <stdio.h>
#include <stdlib.h>

enum { elements = 1 << 20 };

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, lacuna_last_error());
  return EXIT_FAILURE;
}

int main(void) {
  lacuna_communicator* communicator = NULL;
  if (lacuna_join(NULL, &communicator) != LACUNA_OK) return failed("join");

  void* memory = NULL; /* ordinary memory would do too; this one the other ranks of a host read without a copy */
  if (lacuna_alloc(elements * sizeof(float), &memory) != LACUNA_OK) return failed("memory");
  float* gradient = memory;
  for (size_t i = 0; i < elements; ++i) gradient[i] = (float)(lacuna_rank(communicator) + 1);

  lacuna_buffer buffer = LACUNA_BUFFER_INIT;
  buffer.data = gradient;
  buffer.count = elements;
  buffer.dtype = LACUNA_F32;
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_ALLREDUCE;
  call.reduction = LACUNA_AVG;
  call.input = &buffer;
  call.output = &buffer; /* in place */
  lacuna_sampler sampler = {1, 0, 0};
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.sampler = &sampler;
  lacuna_method* method = NULL;
  if (lacuna_size(communicator) > 2) {
    if (lacuna_method_create("skip", "steps=1,mode=random", &method) != LACUNA_OK) return failed("method");
    options.method = method;
  }

  lacuna_request* request = NULL;
  if (lacuna_execute(communicator, &call, &options, &request) != LACUNA_OK) return failed("allreduce");
  double work = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 1; i < 10000; ++i) work += 1.0 / i;
    int32_t finished = 0;
    if (lacuna_test(request, &finished) != LACUNA_OK) return failed("test");
  }
  if (lacuna_wait(request, -1) != LACUNA_OK) return failed("wait");
  lacuna_request_free(request);
  lacuna_method_free(method);

  /* Without options and requests a call is one line. */
  double all_work = 0;
  if (lacuna_allreduce(communicator, &work, &all_work, 1, LACUNA_F64, LACUNA_SUM) != LACUNA_OK) {
    return failed("the sum of the work");
  }

  lacuna_counters counters = LACUNA_COUNTERS_INIT;
  lacuna_get_counters(communicator, &counters);
  printf("rank %d of %d: average %g, %llu bytes sent, %g worked meanwhile by all\n", (int)lacuna_rank(communicator),
         (int)lacuna_size(communicator), gradient[0], (unsigned long long)counters.payload_sent, all_work);
  lacuna_free(memory);
  lacuna_communicator_free(communicator);
  return EXIT_SUCCESS;
}
