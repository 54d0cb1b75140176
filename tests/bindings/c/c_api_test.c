/* Calls every function of the C interface from C99, alone or as the ranks of a job. Both must pass. */
#include "tests/bindings/c/c_api_test.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { elements = 1000 };

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

static int log_lines = 0;

static void count_line(int32_t level, const char* text, void* user) {
  expect(level >= 0 && level <= 3 && strlen(text) > 0, "a log line has a level and a text");
  ++*(int*)user;
}

static void collectives(lacuna_communicator* communicator) {
  const size_t ranks = (size_t)lacuna_size(communicator);
  const float mine = (float)lacuna_rank(communicator) + 1, sum = (float)(ranks * (ranks + 1) / 2);
  float* one = malloc(elements * sizeof *one);
  float* all = malloc(ranks * elements * sizeof *all);
  const lacuna_buffer block = buffer_of(one, elements), blocks = buffer_of(all, ranks * elements);

  fill(one, elements, mine);
  expect_status(execute_allreduce(communicator, &block, &block, LACUNA_SUM, NULL, NULL), LACUNA_OK, "allreduce");
  expect(all_are(one, elements, sum), "allreduce's result");

  fill(all, ranks * elements, mine);
  expect_status(execute_reduce_scatter(communicator, &blocks, &block, LACUNA_MAX, NULL, NULL), LACUNA_OK,
                "reduce_scatter");
  expect(all_are(one, elements, (float)ranks), "reduce_scatter's result");

  fill(one, elements, mine);
  expect_status(execute_allgather(communicator, &block, &blocks, NULL, NULL), LACUNA_OK, "allgather");
  for (size_t rank = 0; rank < ranks; ++rank) {
    expect(all_are(all + rank * elements, elements, (float)rank + 1), "allgather's result");
  }

  const int32_t root = (int32_t)ranks - 1;
  expect_status(execute_broadcast(communicator, &block, root, NULL, NULL), LACUNA_OK, "broadcast");
  expect(all_are(one, elements, (float)ranks), "broadcast's result");
  expect_status(lacuna_barrier(communicator), LACUNA_OK, "barrier");

  const int is_root = lacuna_rank(communicator) == root;
  fill(one, elements, mine);
  fill(all, ranks * elements, 0);
  expect_status(execute_gather(communicator, &block, is_root ? &blocks : NULL, root, NULL, NULL), LACUNA_OK, "gather");
  for (size_t rank = 0; rank < ranks; ++rank) {
    expect(all_are(all + rank * elements, elements, is_root ? (float)rank + 1 : 0), "gather's result");
  }
  fill(one, elements, 0);
  expect_status(execute_scatter(communicator, is_root ? &blocks : NULL, &block, root, NULL, NULL), LACUNA_OK,
                "scatter");
  expect(all_are(one, elements, mine), "scatter's result");
  expect_status(execute_scan(communicator, &block, &block, LACUNA_SUM, NULL, NULL), LACUNA_OK, "scan");
  expect(all_are(one, elements, mine * (mine + 1) / 2), "scan's result");
  fill(one, elements, mine);
  expect_status(execute_exclusive_scan(communicator, &block, &block, LACUNA_MAX, NULL, NULL), LACUNA_OK,
                "exclusive_scan");
  expect(all_are(one, elements, mine > 1 ? mine - 1 : mine), "exclusive_scan's result");
  fill(one, elements, mine);
  expect_status(execute_reduce(communicator, &block, is_root ? &block : NULL, LACUNA_SUM, root, NULL, NULL), LACUNA_OK,
                "reduce");
  expect(all_are(one, elements, is_root ? sum : mine), "reduce's result");
  fill(all, ranks * elements, mine);
  expect_status(execute_alltoall(communicator, &blocks, &blocks, NULL, NULL), LACUNA_OK, "alltoall");
  for (size_t rank = 0; rank < ranks; ++rank) {
    expect(all_are(all + rank * elements, elements, (float)rank + 1), "alltoall's result");
  }

  const lacuna_buffer nothing = LACUNA_BUFFER_INIT;
  expect_status(execute_allreduce(communicator, &nothing, &nothing, LACUNA_SUM, NULL, NULL), LACUNA_OK, "no elements");
  free(one);
  free(all);
}

static void groups(lacuna_communicator* communicator) {
  const int32_t rank = lacuna_rank(communicator), last = lacuna_size(communicator) - 1;
  lacuna_communicator* part = NULL;
  expect_status(lacuna_split(communicator, 0, -rank, &part), LACUNA_OK, "split");
  expect(lacuna_size(part) == last + 1 && lacuna_rank(part) == last - rank, "split turns the ranks around");
  float data[4] = {1, 1, 1, 1};
  const lacuna_buffer buffer = buffer_of(data, 4);
  expect_status(execute_allreduce(part, &buffer, &buffer, LACUNA_SUM, NULL, NULL), LACUNA_OK, "allreduce of a part");
  expect(all_are(data, 4, (float)last + 1), "the result of a part");
  lacuna_communicator_free(part);
  expect_status(lacuna_subgroup(communicator, &last, 1, &part), LACUNA_OK, "subgroup");
  expect(rank == last ? lacuna_size(part) == 1 : part == NULL, "a subgroup of one");
  lacuna_communicator_free(part);
  expect_status(lacuna_split(communicator, -1, 0, &part), LACUNA_OK, "split without a colour");
  expect(part == NULL, "no colour, no communicator");
}

static void requests(lacuna_communicator* communicator) {
  float data[elements];
  fill(data, elements, 1);
  const lacuna_buffer buffer = buffer_of(data, elements);
  lacuna_request* request = NULL;
  int32_t flag = 0;
  expect_status(execute_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, NULL, &request), LACUNA_OK, "start");
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
    expect_status(execute_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, &request[i]), LACUNA_OK,
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

static void skipping(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  float data[elements];
  const lacuna_buffer buffer = buffer_of(data, elements);
  lacuna_sampler sampler = {1, 2, 3};
  lacuna_options options = LACUNA_OPTIONS_INIT;
  fill(data, elements, 1);
  options.algorithm = "skip_ring";
  set_skip(&options, "steps=%d,mode=random", (int)ranks - 1);
  options.sampler = &sampler;
  expect_status(execute_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, NULL), LACUNA_OK, "skip_ring");
  expect(all_are(data, elements, 1), "with all steps skipped each piece is its owner's");
  expect(sampler.seed == 1 && sampler.key == 2 && sampler.draw == (ranks > 1 ? 4u : 3u), "a random call draws once");
  set_skip(&options, "steps=%d,mode=random", (int)ranks);
  if (ranks > 1) {
    expect_error(execute_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, NULL), LACUNA_INVALID_ARGUMENT,
                 "skip.steps is", "more skips than steps");
  }
  expect(sampler.draw == (ranks > 1 ? 4u : 3u), "a refused call draws nothing");
  set_method(&options, NULL);
}

/* Messages go around the ring: that of a rank goes to the next one. */
static void messages(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator), rank = lacuna_rank(communicator);
  const int32_t to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  float sent[elements], got[elements + 5];
  fill(sent, elements, (float)rank + 1);
  const lacuna_buffer data = buffer_of(sent, elements), place = buffer_of(got, elements + 5);
  lacuna_request *send = NULL, *receive = NULL;
  size_t count = 0;
  uint64_t bytes = 0;
  int32_t found = 0;
  expect_status(lacuna_send(communicator, &data, to, 3, NULL, &send), LACUNA_OK, "start to send");
  expect_status(lacuna_probe(communicator, ranks, 3, &found, &bytes), LACUNA_INVALID_ARGUMENT, "a probe of nobody");
  while (lacuna_probe(communicator, from, 3, &found, &bytes) == LACUNA_OK && !found) continue;
  expect(bytes == sizeof sent, "a probe knows the length");
  expect_status(lacuna_receive(communicator, &place, from, 3, NULL, &count, NULL), LACUNA_OK, "receive");
  expect(count == elements && all_are(got, elements, (float)from + 1), "what was received");
  expect_status(lacuna_wait(send, -1), LACUNA_OK, "the end of the send");
  expect(lacuna_received_bytes(send, &bytes) == LACUNA_OK && bytes == 0, "a send receives nothing");
  lacuna_request_free(send);

  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.priority = LACUNA_HIGH;
  expect_status(lacuna_receive(communicator, &place, from, 4, &options, NULL, &receive), LACUNA_OK, "start to receive");
  expect_status(lacuna_send(communicator, &data, to, 4, &options, NULL), LACUNA_OK, "send");
  expect_status(lacuna_wait(receive, -1), LACUNA_OK, "the end of the receive");
  expect(lacuna_received_bytes(receive, &bytes) == LACUNA_OK && bytes == sizeof sent, "the bytes of a receive");
  lacuna_request_free(receive);

  expect_status(lacuna_send(communicator, &data, to, 5, NULL, NULL), LACUNA_OK, "send what will not fit");
  const lacuna_buffer small = buffer_of(got, elements - 1);
  expect_error(lacuna_receive(communicator, &small, from, 5, NULL, NULL, NULL), LACUNA_MISMATCH,
               "has 1000 elements of f32; the receive takes at most 999", "a message that does not fit");
  expect_status(lacuna_communicator_status(communicator), LACUNA_OK, "the communicator lives on");
  options.algorithm = "ring";
  expect_error(lacuna_send(communicator, &data, to, 5, &options, NULL), LACUNA_INVALID_ARGUMENT, "algorithm",
               "a message with an algorithm");
  expect_error(lacuna_send(communicator, &data, ranks, 5, NULL, NULL), LACUNA_INVALID_ARGUMENT, "must be 0 ..",
               "a message to nobody");
  expect_error(lacuna_receive(communicator, NULL, from, 5, NULL, NULL, NULL), LACUNA_INVALID_ARGUMENT, "data is null",
               "a receive without a place");
}

static void counting(lacuna_communicator* communicator) {
  float data[elements];
  const lacuna_buffer buffer = buffer_of(data, elements);
  lacuna_counters before = LACUNA_COUNTERS_INIT, after = LACUNA_COUNTERS_INIT;
  fill(data, elements, 1);
  expect_status(lacuna_barrier(communicator), LACUNA_OK, "barrier");
  expect_status(lacuna_get_counters(communicator, &before), LACUNA_OK, "counters");
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "ring";
  expect_status(execute_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, NULL), LACUNA_OK, "ring");
  expect_status(lacuna_barrier(communicator), LACUNA_OK, "barrier");
  expect_status(lacuna_get_counters(communicator, &after), LACUNA_OK, "counters");
  const uint64_t sent = after.payload_sent - before.payload_sent, ranks = (uint64_t)lacuna_size(communicator);
  expect(ranks != 2 || sent == elements * sizeof(float), "a ring of two sends its data once");
  expect(ranks > 1 ? after.messages_sent > before.messages_sent : sent == 0, "a ring sends messages");
  expect(ranks > 1 ? after.payload_received > before.payload_received : sent == 0, "and receives them");
}

int main(void) {
  lacuna_communicator* communicator = NULL;
  texts();
  lacuna_set_log_callback(count_line, &log_lines);
  join_refuses();
  if (lacuna_join(NULL, &communicator) != LACUNA_OK) {
    fprintf(stderr, "join: %s\n", lacuna_last_error());
    return EXIT_FAILURE;
  }
  const char* size = getenv("LACUNA_SIZE");
  expect(lacuna_size(communicator) == (size ? atoi(size) : 1), "the size of the world");
  expect(lacuna_size(communicator) == 1 || !getenv("LACUNA_LOG") || log_lines > 0, "joining is logged");
  lacuna_set_log_callback(NULL, NULL);
  collectives(communicator);
  blocks_of_different_lengths(communicator);
  groups(communicator);
  requests(communicator);
  prepared_requests(communicator);
  buffers_of_entries(communicator);
  elements_of_all_types(communicator);
  notifications(communicator);
  methods_refused();
  null_arguments(communicator);
  bad_arguments(communicator);
  skipping(communicator);
  skipping_options(communicator);
  skipping_keeps(communicator);
  skipping_segments(communicator);
  messages(communicator);
  counting(communicator);
  lacuna_communicator_free(communicator);
  if (failed_checks() == 0) printf("all passed\n");
  return failed_checks() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
