/* Every function of the C interface, from C99. Alone, or as the ranks of a job: both must pass. */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/lacuna.h"

enum { elements = 1000 };

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "FAILED: %s (last error: %s)\n", what, lacuna_last_error());
}

static void expect_status(lacuna_status got, lacuna_status wanted, const char* what) {
  if (got == wanted) return;
  fprintf(stderr, "got %s, wanted %s\n", lacuna_status_text(got), lacuna_status_text(wanted));
  expect(0, what);
}

/* A failure of this kind, whose text has this part. */
static void expect_error(lacuna_status got, lacuna_status wanted, const char* part, const char* what) {
  expect_status(got, wanted, what);
  expect(strstr(lacuna_last_error(), part) != NULL, what);
}

static lacuna_buffer buffer_of(float* data, size_t count) {
  lacuna_buffer buffer = LACUNA_BUFFER_INIT;
  buffer.data = data;
  buffer.count = count;
  return buffer;
}

static void fill(float* data, size_t count, float value) {
  for (size_t i = 0; i < count; ++i) data[i] = value;
}

static int all_are(const float* data, size_t count, float value) {
  for (size_t i = 0; i < count; ++i) {
    if (data[i] < value || data[i] > value) return 0;
  }
  return 1;
}

static void texts(void) {
  int major = -1, minor = -1, patch = -1;
  expect(sscanf(lacuna_version(), "%d.%d.%d", &major, &minor, &patch) == 3, "the version has three numbers");
  for (int code = LACUNA_OK; code <= LACUNA_INTERNAL; ++code) {
    expect(strlen(lacuna_status_text((lacuna_status)code)) > 0, "every status has a word");
  }
  expect(strcmp(lacuna_status_text(LACUNA_OK), "ok") == 0, "the word for success");
  expect(strcmp(lacuna_status_text(LACUNA_TIMED_OUT), "timed out") == 0, "the word for a time-out");
  expect(lacuna_last_error() != NULL, "there is always a text");
}

static void join_refuses(void) {
  lacuna_communicator* communicator = NULL;
  lacuna_world_options options = LACUNA_WORLD_OPTIONS_INIT;
  expect_error(lacuna_join(NULL, NULL), LACUNA_INVALID_ARGUMENT, "communicator is null", "join without a place");
  options.rank = 3;
  options.world_size = 3;
  expect_error(lacuna_join(&options, &communicator), LACUNA_INVALID_ARGUMENT, "rank 3 of 3", "join as a rank too many");
  options.rank = -1;
  options.world_size = -1;
  options.progress = 2;
  expect_error(lacuna_join(&options, &communicator), LACUNA_INVALID_ARGUMENT, "progress is 2", "an unknown progress");
  options.progress = -1;
  options.struct_size = sizeof options + 8;
  expect_error(lacuna_join(&options, &communicator), LACUNA_INVALID_ARGUMENT, "struct_size", "a structure too large");
  options.struct_size = 0;
  expect_error(lacuna_join(&options, &communicator), LACUNA_INVALID_ARGUMENT, "struct_size",
               "a structure without size");
  expect(communicator == NULL, "a failed join gives no handle");
}

static void collectives(lacuna_communicator* communicator) {
  const size_t ranks = (size_t)lacuna_size(communicator);
  const float mine = (float)lacuna_rank(communicator) + 1, sum = (float)(ranks * (ranks + 1) / 2);
  float* one = malloc(elements * sizeof *one);
  float* all = malloc(ranks * elements * sizeof *all);
  const lacuna_buffer block = buffer_of(one, elements), blocks = buffer_of(all, ranks * elements);

  fill(one, elements, mine);
  expect_status(lacuna_allreduce(communicator, &block, &block, LACUNA_SUM, NULL, NULL), LACUNA_OK, "allreduce");
  expect(all_are(one, elements, sum), "allreduce's result");

  fill(all, ranks * elements, mine);
  expect_status(lacuna_reduce_scatter(communicator, &blocks, &block, LACUNA_MAX, NULL, NULL), LACUNA_OK,
                "reduce_scatter");
  expect(all_are(one, elements, (float)ranks), "reduce_scatter's result");

  fill(one, elements, mine);
  expect_status(lacuna_allgather(communicator, &block, &blocks, NULL, NULL), LACUNA_OK, "allgather");
  for (size_t rank = 0; rank < ranks; ++rank) {
    expect(all_are(all + rank * elements, elements, (float)rank + 1), "allgather's result");
  }

  const int32_t root = (int32_t)ranks - 1;
  expect_status(lacuna_broadcast(communicator, &block, root, NULL, NULL), LACUNA_OK, "broadcast");
  expect(all_are(one, elements, (float)ranks), "broadcast's result");
  expect_status(lacuna_barrier(communicator, NULL, NULL), LACUNA_OK, "barrier");

  const lacuna_buffer nothing = LACUNA_BUFFER_INIT;
  expect_status(lacuna_allreduce(communicator, &nothing, &nothing, LACUNA_SUM, NULL, NULL), LACUNA_OK, "no elements");
  free(one);
  free(all);
}

/* What a program that knows only the first members of a structure sends. */
static void older_clients(lacuna_communicator* communicator) {
  float data[4] = {1, 1, 1, 1};
  lacuna_buffer buffer = buffer_of(data, 4);
  buffer.struct_size = offsetof(lacuna_buffer, dtype);
  buffer.dtype = 99;
  buffer.memory = 99;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.struct_size = offsetof(lacuna_options, skip_steps);
  options.algorithm = "ring";
  options.skip_steps = 77;
  options.priority = -5;
  expect_status(lacuna_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, NULL), LACUNA_OK,
                "members beyond struct_size are not looked at");
  expect(all_are(data, 4, (float)lacuna_size(communicator)), "an older client's result");

  lacuna_counters counters = LACUNA_COUNTERS_INIT;
  counters.struct_size = offsetof(lacuna_counters, messages_sent);
  counters.messages_sent = 12345;
  expect_status(lacuna_get_counters(communicator, &counters), LACUNA_OK, "an older client's counters");
  expect(counters.messages_sent == 12345, "members beyond struct_size are not written");
  expect(counters.struct_size == offsetof(lacuna_counters, messages_sent), "struct_size stays as it was");
}

static void requests(lacuna_communicator* communicator) {
  float data[elements];
  fill(data, elements, 1);
  const lacuna_buffer buffer = buffer_of(data, elements);
  lacuna_request* request = NULL;
  int32_t flag = 0;
  expect_status(lacuna_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, NULL, &request), LACUNA_OK, "start");
  expect(request != NULL, "a started call has a request");
  lacuna_status tested = LACUNA_OK;
  while (tested == LACUNA_OK && !flag) tested = lacuna_test(request, &flag);
  expect_status(tested, LACUNA_OK, "test");
  expect_status(lacuna_wait(request, 0), LACUNA_OK, "waiting for a finished request");
  expect_status(lacuna_wait(request, -1), LACUNA_OK, "waiting once more");
  while (lacuna_reclaimed(request, &flag) == LACUNA_OK && !flag) lacuna_progress(communicator, NULL);
  expect(flag == 1, "buffers are free after the end");
  expect(all_are(data, elements, (float)lacuna_size(communicator)), "a started call's result");
  expect_error(lacuna_wait(request, (double)NAN), LACUNA_INVALID_ARGUMENT, "timeout",
               "waiting for no number of seconds");
  expect_status(lacuna_wait(request, (double)INFINITY), LACUNA_OK, "waiting for ever");
  lacuna_request_free(request);
  lacuna_request_free(NULL);
  lacuna_communicator_free(NULL);
}

/* A loop that sleeps on the descriptor until the notified calls have ended. */
static void notifications(lacuna_communicator* communicator) {
  float data[3][elements];
  lacuna_request* request[3] = {NULL, NULL, NULL};
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.notify = 1;
  for (int i = 0; i < 3; ++i) {
    const lacuna_buffer buffer = buffer_of(data[i], elements);
    fill(data[i], elements, 1);
    options.token = 70 + (uint64_t)i;
    options.priority = i;
    expect_status(lacuna_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, &request[i]), LACUNA_OK,
                  "start with a token");
  }
  unsigned seen = 0;
  for (int rounds = 0; seen != 7 && rounds < 100000; ++rounds) {
    int32_t found = 0, armed = 0, moved = 0;
    uint64_t token = 0;
    lacuna_status outcome = LACUNA_INTERNAL;
    expect_status(lacuna_next_completion(communicator, &found, &token, &outcome), LACUNA_OK, "next completion");
    if (found) {
      expect(token >= 70 && token < 73 && outcome == LACUNA_OK, "a completion's token and outcome");
      expect((seen & (1u << (token - 70))) == 0, "each completion comes once");
      seen |= 1u << (token - 70);
      continue;
    }
    expect_status(lacuna_progress(communicator, &moved), LACUNA_OK, "progress");
    if (moved) continue;
    expect_status(lacuna_arm(communicator, &armed), LACUNA_OK, "arm");
    struct pollfd waiting = {lacuna_event_fd(communicator), POLLIN, 0};
    if (armed) poll(&waiting, 1, 100);
  }
  expect(seen == 7, "all completions come");
  for (int i = 0; i < 3; ++i) lacuna_request_free(request[i]);
}

static void null_arguments(lacuna_communicator* communicator) {
  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  float data[4] = {0};
  const lacuna_buffer some = buffer_of(data, 4);
  lacuna_counters counters = LACUNA_COUNTERS_INIT;
  lacuna_request* request = NULL;
  int32_t flag = 0;
  uint64_t token = 0;
  lacuna_status outcome = LACUNA_OK;
  expect_error(lacuna_allreduce(NULL, &some, &some, LACUNA_SUM, NULL, NULL), bad, "communicator is null", "allreduce");
  expect_error(lacuna_reduce_scatter(NULL, &some, &some, LACUNA_SUM, NULL, NULL), bad, "communicator",
               "reduce_scatter");
  expect_error(lacuna_allgather(NULL, &some, &some, NULL, NULL), bad, "communicator", "allgather");
  expect_error(lacuna_broadcast(NULL, &some, 0, NULL, NULL), bad, "communicator", "broadcast");
  expect_error(lacuna_barrier(NULL, NULL, NULL), bad, "communicator", "barrier");
  expect_error(lacuna_allreduce(communicator, NULL, &some, LACUNA_SUM, NULL, NULL), bad, "input is null", "no input");
  expect_error(lacuna_allreduce(communicator, &some, NULL, LACUNA_SUM, NULL, NULL), bad, "output is null", "no output");
  expect_error(lacuna_broadcast(communicator, NULL, 0, NULL, NULL), bad, "null", "broadcast of nothing");
  expect_error(lacuna_test(NULL, &flag), bad, "request is null", "test");
  expect_error(lacuna_wait(NULL, 0), bad, "request is null", "wait");
  expect_error(lacuna_reclaimed(NULL, &flag), bad, "request is null", "reclaimed");
  expect_error(lacuna_progress(NULL, NULL), bad, "communicator", "progress");
  expect_error(lacuna_arm(communicator, NULL), bad, "armed is null", "arm");
  expect_error(lacuna_arm(NULL, &flag), bad, "communicator", "arm without a communicator");
  expect_error(lacuna_next_completion(communicator, NULL, &token, &outcome), bad, "null", "next completion");
  expect_error(lacuna_next_completion(NULL, &flag, &token, &outcome), bad, "null", "completion of nothing");
  expect_error(lacuna_get_counters(NULL, &counters), bad, "communicator", "counters of nothing");
  expect_error(lacuna_get_counters(communicator, NULL), bad, "counters is null", "counters");
  expect_error(lacuna_communicator_status(NULL), bad, "communicator", "status of nothing");
  expect(lacuna_rank(NULL) == -1 && lacuna_size(NULL) == -1 && lacuna_event_fd(NULL) == -1, "numbers of nothing");
  expect_status(lacuna_barrier(communicator, NULL, &request), LACUNA_OK, "barrier's request");
  expect_error(lacuna_test(request, NULL), bad, "finished is null", "test without a place");
  expect_error(lacuna_reclaimed(request, NULL), bad, "reclaimed is null", "reclaimed without a place");
  lacuna_request_free(request);
}

static void bad_arguments(lacuna_communicator* communicator) {
  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  float data[8] = {0};
  lacuna_buffer one = buffer_of(data, 4), other = buffer_of(data + 4, 4);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  one.dtype = 7;
  expect_error(lacuna_allreduce(communicator, &one, &one, LACUNA_SUM, NULL, NULL), bad, "dtype is 7", "a wrong dtype");
  one.dtype = -1;
  expect_error(lacuna_allreduce(communicator, &one, &one, LACUNA_SUM, NULL, NULL), bad, "dtype is -1", "wrong dtype");
  one.dtype = LACUNA_I32;
  expect_error(lacuna_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), bad, "dtype", "two dtypes");
  expect_error(lacuna_allreduce(communicator, &one, &one, LACUNA_AVG, NULL, NULL), bad, "avg of i32",
               "avg of integers");
  one.dtype = LACUNA_F32;
  expect_error(lacuna_allreduce(communicator, &one, &one, (lacuna_reduction)5, NULL, NULL), bad, "reduction is 5",
               "a wrong reduction");
  one.memory = 3;
  expect_error(lacuna_allreduce(communicator, &one, &one, LACUNA_SUM, NULL, NULL), bad, "memory is 3", "wrong memory");
  one.memory = other.memory = LACUNA_CUDA;
  expect_error(lacuna_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), LACUNA_UNSUPPORTED, "memory",
               "device memory is refused with a reason");
  one.memory = LACUNA_HOST;
  expect_error(lacuna_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), bad, "memory", "two memories");
  other = buffer_of(data + 4, 3);
  expect_error(lacuna_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), bad, "3", "two counts");
  other = buffer_of(data + 2, 4);
  expect_error(lacuna_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), bad, "overlap", "overlap");
  other = buffer_of(NULL, 4);
  expect_error(lacuna_allreduce(communicator, &one, &other, LACUNA_SUM, NULL, NULL), bad, "null", "null memory");
  expect_error(lacuna_broadcast(communicator, &one, lacuna_size(communicator), NULL, NULL), bad, "root is",
               "a bad root");
  expect_error(lacuna_broadcast(communicator, &one, -1, NULL, NULL), bad, "root is -1", "a negative root");
  options.algorithm = "nonsense";
  expect_error(lacuna_barrier(communicator, &options, NULL), bad, "there are: dissemination", "an unknown algorithm");
  options.algorithm = NULL;
  options.skip_mode = 2;
  expect_error(lacuna_barrier(communicator, &options, NULL), bad, "skip_mode is 2", "an unknown mode");
  options.skip_mode = LACUNA_SKIP_STATIC;
  options.priority = 3;
  expect_error(lacuna_barrier(communicator, &options, NULL), bad, "priority is 3", "an unknown priority");
  options.priority = LACUNA_NORMAL;
  options.deadline = -1;
  expect_error(lacuna_barrier(communicator, &options, NULL), bad, "deadline", "a negative deadline");
  options.deadline = (double)INFINITY;
  expect_status(lacuna_barrier(communicator, &options, NULL), LACUNA_OK, "a deadline that never comes");
  options.struct_size = sizeof options + 1;
  expect_error(lacuna_barrier(communicator, &options, NULL), bad, "struct_size", "options from the future");
  expect_status(lacuna_communicator_status(communicator), LACUNA_OK, "errors of arguments poison nothing");
}

static void skipping(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  float data[elements];
  const lacuna_buffer buffer = buffer_of(data, elements);
  lacuna_sampler sampler = {1, 2, 3};
  lacuna_options options = LACUNA_OPTIONS_INIT;
  fill(data, elements, 1);
  options.algorithm = "skip_ring";
  options.skip_steps = ranks - 1;
  options.skip_mode = LACUNA_SKIP_RANDOM;
  options.sampler = &sampler;
  expect_status(lacuna_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, NULL), LACUNA_OK, "skip_ring");
  expect(all_are(data, elements, 1), "with all steps skipped each piece is its owner's");
  expect(sampler.seed == 1 && sampler.key == 2 && sampler.draw == (ranks > 1 ? 4u : 3u), "a random call draws once");
  options.skip_steps = ranks;
  expect_error(lacuna_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, NULL), LACUNA_INVALID_ARGUMENT,
               "skip_steps is", "more skips than steps");
  expect(sampler.draw == (ranks > 1 ? 4u : 3u), "a refused call draws nothing");
}

static void counting(lacuna_communicator* communicator) {
  float data[elements];
  const lacuna_buffer buffer = buffer_of(data, elements);
  lacuna_counters before = LACUNA_COUNTERS_INIT, after = LACUNA_COUNTERS_INIT;
  fill(data, elements, 1);
  expect_status(lacuna_barrier(communicator, NULL, NULL), LACUNA_OK, "barrier");
  expect_status(lacuna_get_counters(communicator, &before), LACUNA_OK, "counters");
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "ring";
  expect_status(lacuna_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, NULL), LACUNA_OK, "ring");
  expect_status(lacuna_barrier(communicator, NULL, NULL), LACUNA_OK, "barrier");
  expect_status(lacuna_get_counters(communicator, &after), LACUNA_OK, "counters");
  const uint64_t sent = after.payload_sent - before.payload_sent, ranks = (uint64_t)lacuna_size(communicator);
  expect(ranks != 2 || sent == elements * sizeof(float), "a ring of two sends its data once");
  expect(ranks > 1 ? after.messages_sent > before.messages_sent : sent == 0, "a ring sends messages");
  expect(ranks > 1 ? after.payload_received > before.payload_received : sent == 0, "and receives them");
}

int main(void) {
  lacuna_communicator* communicator = NULL;
  texts();
  join_refuses();
  if (lacuna_join(NULL, &communicator) != LACUNA_OK) {
    fprintf(stderr, "join: %s\n", lacuna_last_error());
    return EXIT_FAILURE;
  }
  const char* size = getenv("LACUNA_SIZE");
  expect(lacuna_size(communicator) == (size ? atoi(size) : 1), "the size of the world");
  collectives(communicator);
  older_clients(communicator);
  requests(communicator);
  notifications(communicator);
  null_arguments(communicator);
  bad_arguments(communicator);
  skipping(communicator);
  counting(communicator);
  lacuna_communicator_free(communicator);
  if (failures == 0) printf("all passed\n");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
