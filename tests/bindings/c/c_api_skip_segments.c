/* Skipping by segments, and their importance, which is measured, saved and restored. Wrong ones are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/lacuna_skip.h"
#include "tests/bindings/c/c_api_test.h"

enum { elements = 64, half = elements / 2, room = 100000 };

static void knows(const lacuna_state* state) {
  size_t count = 0;
  expect_status(lacuna_skip_get_importance(state, 0, NULL, &count), LACUNA_OK, "the number of segments");
  expect(count == 2, "both segments were measured");
  lacuna_segment_importance segment = LACUNA_SEGMENT_IMPORTANCE_INIT;
  for (size_t i = 0; i < 2; ++i) {
    expect_status(lacuna_skip_get_importance(state, i, &segment, NULL), LACUNA_OK, "a segment");
    expect(segment.segment == i && segment.count == half, "its numbers");
    expect(segment.measured == 1 && segment.important == (i == 0), "the larger one is important");
    expect(i == 0 ? segment.share > 0.4 : segment.share < 0.1, "its share of the largest quarter");
  }
  expect_error(lacuna_skip_get_importance(state, 2, &segment, NULL), LACUNA_INVALID_ARGUMENT, "index is 2",
               "a segment too many");
}

static void set_segments(lacuna_options* options, const char* text, const lacuna_skip_segment* segments, size_t count) {
  lacuna_method* method = NULL;
  expect_status(lacuna_skip_create(text, segments, count, &method), LACUNA_OK, "segments");
  set_method(options, method);
}

/* The first half is large, the second small. Both are measured in the first run. */
static void automatic(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  float given[elements], dense[elements], sum[elements];
  unsigned char* saved = malloc(room);
  size_t length = 0;
  for (int i = 0; i < elements; ++i) given[i] = i < half ? 1024 : 1;
  add_up(communicator, given, dense, elements, NULL);
  lacuna_state *state = NULL, *restored = NULL;
  expect_status(lacuna_state_create(NULL, 1, 2, &state), LACUNA_OK, "a state");
  expect_status(lacuna_state_create(NULL, 1, 2, &restored), LACUNA_OK, "a state to restore");
  const lacuna_skip_segment segments[] = {{0, half, LACUNA_POLICY_AUTOMATIC}, {half, half, LACUNA_POLICY_AUTOMATIC}};
  char text[96];
  snprintf(text, sizeof text, "steps=%d,small=16,importance_threshold=0.4", (int)ranks - 1);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  options.state = state;
  set_segments(&options, text, segments, 2);
  add_up(communicator, given, sum, elements, &options);
  expect(memcmp(sum, dense, sizeof sum) == 0, "the first run is dense");
  for (int run = 0; run < 3; ++run) {
    add_up(communicator, given, sum, elements, &options);
    expect(memcmp(sum, dense, half * sizeof *sum) == 0, "the important segment stays dense");
    expect((int)sum[half] == 1 && (int)sum[elements - 1] == 1, "the other one is skipped");
  }
  knows(state);
  expect_status(lacuna_state_save(state, saved, room, &length), LACUNA_OK, "save");
  size_t count = 77;
  expect_status(lacuna_skip_get_importance(restored, 0, NULL, &count), LACUNA_OK, "the number of segments");
  expect(count == 0, "nothing was measured");
  expect_status(lacuna_state_restore(restored, saved, length), LACUNA_OK, "restore");
  knows(restored);
  options.state = restored;
  add_up(communicator, given, sum, elements, &options);
  expect(memcmp(sum, dense, half * sizeof *sum) == 0 && (int)sum[half] == 1, "what was restored decides alike");
  set_method(&options, NULL);
  lacuna_state_free(state);
  lacuna_state_free(restored);
  lacuna_state_free(NULL);
  free(saved);
}

/* One model has two tensors. All of the large one is important, nothing of the small one. Alone, neither is. */
static void models(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  float large[elements], small[elements], sum[elements];
  for (int i = 0; i < elements; ++i) {
    large[i] = i < half ? 1024 : 512;
    small[i] = 1;
  }
  lacuna_state* states[2] = {NULL, NULL};
  for (int i = 0; i < 2; ++i) expect_status(lacuna_state_create(NULL, 1, 2, &states[i]), LACUNA_OK, "a state");
  for (int i = 0; i < 2; ++i) {
    expect_status(lacuna_state_set_model(states[i], states, 2), LACUNA_OK, "a model");
  }
  lacuna_state* const other[] = {states[1]};
  lacuna_state* const none[] = {states[0], NULL};
  expect_error(lacuna_state_set_model(states[0], other, 1), LACUNA_INVALID_ARGUMENT, "the state itself",
               "a model of others");
  expect_error(lacuna_state_set_model(states[0], none, 2), LACUNA_INVALID_ARGUMENT, "one of states is null",
               "a model with nothing");
  expect_error(lacuna_state_set_model(NULL, states, 2), LACUNA_INVALID_ARGUMENT, "state is null", "a model of nothing");
  expect_error(lacuna_state_set_model(states[0], NULL, 1), LACUNA_INVALID_ARGUMENT, "states is null", "no list");
  const lacuna_skip_segment all = {0, elements, LACUNA_POLICY_AUTOMATIC};
  char text[96];
  snprintf(text, sizeof text, "steps=%d,small=16,importance_threshold=0.4", (int)ranks - 1);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  set_segments(&options, text, &all, 1);
  for (int run = 0; run < 2; ++run) {
    options.state = states[0];
    add_up(communicator, large, sum, elements, &options);
    expect((int)sum[0] == 1024 * ranks, "the larger tensor is dense");
    options.state = states[1];
    add_up(communicator, small, sum, elements, &options);
    expect((int)sum[0] == (run == 0 ? ranks : 1), "the smaller one is skipped once it was measured");
  }
  for (int i = 0; i < 2; ++i) {
    expect_status(lacuna_state_set_model(states[i], NULL, 0), LACUNA_OK, "no model any more");
    lacuna_state_free(states[i]);
  }
  set_method(&options, NULL);
}

static void segments_are_treated(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  float given[elements], sum[elements];
  for (int i = 0; i < elements; ++i) given[i] = 1;
  lacuna_skip_segment segments[] = {{0, half, LACUNA_POLICY_NEVER}, {half, half, LACUNA_POLICY_SKIP}};
  char text[64];
  snprintf(text, sizeof text, "steps=%d", (int)ranks - 1);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  set_segments(&options, text, segments, 2);
  add_up(communicator, given, sum, elements, &options);
  expect((int)sum[0] == ranks && (int)sum[half] == ranks, "segments below 4096 bytes are dense");
  snprintf(text, sizeof text, "steps=%d,small=1", (int)ranks - 1);
  set_segments(&options, text, segments, 2);
  memset(segments, 0, sizeof segments); /* they were copied */
  add_up(communicator, given, sum, elements, &options);
  expect((int)sum[half - 1] == ranks, "one that is never skipped");
  expect((int)sum[half] == 1 && (int)sum[elements - 1] == 1, "one that is");
  set_segments(&options, text, NULL, 0);
  add_up(communicator, given, sum, elements, &options);
  expect((int)sum[0] == 1 && (int)sum[elements - 1] == 1, "without segments all of it is skipped");
  set_method(&options, NULL);
}

/* A call that has this method must be refused. Frees the method. */
static void expect_refused(lacuna_communicator* communicator, lacuna_method* method, const char* part) {
  float data[elements] = {0};
  const lacuna_buffer buffer = buffer_of(data, elements);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  options.method = method;
  expect_error(execute_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, NULL), LACUNA_INVALID_ARGUMENT,
               part, part);
  set_method(&options, NULL);
}

static lacuna_method* skip_with(const char* text, const lacuna_skip_segment* segments, size_t count) {
  lacuna_method* method = NULL;
  expect_status(lacuna_skip_create(text, segments, count, &method), LACUNA_OK, "a method with segments");
  return method;
}

static void segments_refused(const char* text, const lacuna_skip_segment* segments, size_t count, const char* part) {
  lacuna_method* method = NULL;
  expect_error(lacuna_skip_create(text, segments, count, &method), LACUNA_INVALID_ARGUMENT, part, part);
  expect(method == NULL, "a refused method gives no handle");
}

static void refused_options(lacuna_communicator* communicator) {
  expect_refused(communicator, skip_with("feedback=1,mode=shuffled", NULL, 0), "skip.feedback needs a state");
  expect_refused(communicator, skip_with("warm_up=1", NULL, 0), "need a state");
  expect_refused(communicator, skip_with("schedule=0:0", NULL, 0), "need a state");
  expect_refused(communicator, skip_with("audit=1", NULL, 0), "skip.audit needs a state");
  lacuna_skip_segment segment = {0, elements, 3};
  segments_refused(NULL, NULL, 4, "segments is null, and segment_count is 4");
  segments_refused(NULL, &segment, 1, "policy is 3, must be 0 .. 2");
  segment.policy = -1;
  segments_refused("", &segment, 1, "policy is -1, must be 0 .. 2");
  segment.policy = LACUNA_POLICY_AUTOMATIC;
  segments_refused("stepz=1", &segment, 1, "skip has no option 'stepz' (did you mean steps?)");
  expect_error(lacuna_skip_create(NULL, &segment, 1, NULL), LACUNA_INVALID_ARGUMENT, "method is null",
               "segments without a place");
  expect_refused(communicator, skip_with("small=0", &segment, 1), "the policy automatic needs a state");
  segment.policy = LACUNA_POLICY_NEVER;
  segment.count = elements - 1;
  expect_refused(communicator, skip_with(NULL, &segment, 1), "must cover exactly the 64 elements");
  float data[1] = {0};
  const lacuna_buffer buffer = buffer_of(data, 1);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  set_skip(&options, "ratio=0.5");
  expect_error(lacuna_send(communicator, &buffer, 0, 0, &options, NULL), LACUNA_INVALID_ARGUMENT,
               "neither an algorithm nor a method", "a message that skips");
  set_method(&options, NULL);
  expect_status(lacuna_communicator_status(communicator), LACUNA_OK, "errors of arguments poison nothing");
}

static void refused_importance(void) {
  size_t count = 0;
  lacuna_state* state = NULL;
  expect_status(lacuna_state_create(NULL, 1, 2, &state), LACUNA_OK, "a state");
  expect_error(lacuna_skip_get_importance(NULL, 0, NULL, &count), LACUNA_INVALID_ARGUMENT, "state is null",
               "importance of nothing");
  expect_error(lacuna_skip_get_importance(state, 0, NULL, NULL), LACUNA_INVALID_ARGUMENT, "count is null",
               "importance without a place");
  lacuna_state_free(state);
}

void skipping_segments(lacuna_communicator* communicator) {
  automatic(communicator);
  models(communicator);
  segments_are_treated(communicator);
  refused_options(communicator);
  refused_importance();
}
