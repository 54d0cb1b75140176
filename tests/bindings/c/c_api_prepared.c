/* Requests that are made once and started many times. */
#include "tests/bindings/c/c_api_test.h"

enum { elements = 300, starts = 1000 };

static int all_are(const float* data, float value) {
  for (size_t i = 0; i < elements; ++i) {
    if (data[i] < value || data[i] > value) return 0;
  }
  return 1;
}

static void many_starts(lacuna_communicator* communicator) {
  float input[elements], output[elements], other[elements];
  const lacuna_buffer in = buffer_of(input, elements), out = buffer_of(output, elements);
  const lacuna_buffer both = buffer_of(other, elements);
  const float ranks = (float)lacuna_size(communicator);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.prepare = 1;
  lacuna_request* request = NULL;
  int32_t finished = 0;
  expect_status(execute_allreduce(communicator, &in, &out, LACUNA_SUM, &options, &request), LACUNA_OK, "prepare");
  expect_status(lacuna_test(request, &finished), LACUNA_OK, "test of what was not started");
  expect(finished == 1, "what was not started counts as ended");
  int right = 1;
  for (int i = 0; i < starts && right; ++i) {
    for (size_t k = 0; k < elements; ++k) input[k] = (float)i;
    for (size_t k = 0; k < elements; ++k) other[k] = 1;
    right = lacuna_start(request) == LACUNA_OK;
    right = right && execute_allreduce(communicator, &both, &both, LACUNA_SUM, NULL, NULL) == LACUNA_OK;
    right = right && lacuna_wait(request, -1) == LACUNA_OK;
    right = right && all_are(output, ranks * (float)i) && all_are(other, ranks);
  }
  expect(right, "every start gives its result beside other calls");
  lacuna_request_free(request);
}

static void refusals(lacuna_communicator* communicator) {
  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  float data[elements] = {0};
  const lacuna_buffer buffer = buffer_of(data, elements);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  lacuna_request* request = NULL;
  expect_error(lacuna_start(NULL), bad, "request is null", "start of nothing");
  expect_status(execute_barrier(communicator, NULL, &request), LACUNA_OK, "barrier");
  expect_status(lacuna_wait(request, -1), LACUNA_OK, "barrier's end");
  expect_error(lacuna_start(request), bad, "only a call that was prepared", "start of another request");
  lacuna_request_free(request);
  options.prepare = 1;
  expect_error(execute_barrier(communicator, &options, NULL), bad, "request is null", "prepare without a place");
  expect_error(execute_broadcast(communicator, &buffer, -1, &options, &request), bad, "root is -1",
               "what can't work can't be prepared");
  expect_error(lacuna_send(communicator, &buffer, 0, 0, &options, &request), LACUNA_UNSUPPORTED, "can't be prepared",
               "messages are not prepared");
}

void prepared_requests(lacuna_communicator* communicator) {
  many_starts(communicator);
  refusals(communicator);
}
