/* Skipping by segments, the importance that is measured of them, saved and restored, and what is refused of both. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/lacuna_skip.h"
#include "tests/bindings/c/c_api_test.h"

enum { elements = 64, half = elements / 2, room = 100000 };

static lacuna_status restore_importance(void* importance, const void* bytes, size_t length) {
  return lacuna_skip_importance_restore(importance, bytes, length);
}

static void knows(const lacuna_skip_importance* importance, uint64_t runs) {
  size_t count = 0;
  expect_status(lacuna_skip_importance_segments(importance, &count), LACUNA_OK, "the number of segments");
  expect(count == 2, "both segments were seen");
  for (size_t i = 0; i < 2; ++i) {
    lacuna_segment_importance segment = LACUNA_SEGMENT_IMPORTANCE_INIT;
    expect_status(lacuna_skip_importance_segment(importance, i, &segment), LACUNA_OK, "a segment");
    expect(segment.key == 70 + i && segment.runs == runs && segment.count == half, "its numbers");
    expect(segment.measured == 1 && segment.important == (i == 0), "the larger one is important");
    expect(i == 0 ? segment.share > 0.4 : segment.share < 0.1, "its share of the largest quarter");
  }
  lacuna_segment_importance segment = LACUNA_SEGMENT_IMPORTANCE_INIT;
  expect_error(lacuna_skip_importance_segment(importance, 2, &segment), LACUNA_INVALID_ARGUMENT, "index is 2",
               "a segment too many");
}

static void set_segments(lacuna_options* options, const char* text, const lacuna_skip_segment* segments, size_t count,
                         lacuna_skip_importance* importance) {
  lacuna_method* method = NULL;
  expect_status(lacuna_skip_create(text, segments, count, importance, &method), LACUNA_OK, "segments");
  set_method(options, method);
}

/* The first half is large, the second small; both are measured in the first run. */
static void automatic(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  float given[elements], dense[elements], sum[elements];
  unsigned char* saved = malloc(room);
  size_t length = 0;
  for (int i = 0; i < elements; ++i) given[i] = i < half ? 1024 : 1;
  add_up(communicator, given, dense, elements, NULL);
  lacuna_skip_importance_options how = LACUNA_SKIP_IMPORTANCE_OPTIONS_INIT;
  how.threshold = 0.4;
  lacuna_skip_importance *importance = NULL, *restored = NULL;
  expect_status(lacuna_skip_importance_create(&how, &importance), LACUNA_OK, "importance");
  expect_status(lacuna_skip_importance_create(&how, &restored), LACUNA_OK, "importance to restore");
  const lacuna_skip_segment segments[] = {{0, half, LACUNA_POLICY_AUTOMATIC, 70},
                                          {half, half, LACUNA_POLICY_AUTOMATIC, 71}};
  char text[64];
  snprintf(text, sizeof text, "steps=%d,small=16", (int)ranks - 1);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  set_segments(&options, text, segments, 2, importance);
  add_up(communicator, given, sum, elements, &options);
  expect(memcmp(sum, dense, sizeof sum) == 0, "the first run is dense");
  for (int run = 0; run < 3; ++run) {
    add_up(communicator, given, sum, elements, &options);
    expect(memcmp(sum, dense, half * sizeof *sum) == 0, "the important segment stays dense");
    expect((int)sum[half] == 1 && (int)sum[elements - 1] == 1, "the other one is skipped");
  }
  knows(importance, 4);
  expect_status(lacuna_skip_importance_save(importance, saved, room, &length), LACUNA_OK, "save");
  refuses_damaged(saved, length, restore_importance, restored);
  size_t count = 77;
  expect_status(lacuna_skip_importance_segments(restored, &count), LACUNA_OK, "the number of segments");
  expect(count == 0, "what is refused changes nothing");
  expect_status(lacuna_skip_importance_restore(restored, saved, length), LACUNA_OK, "restore");
  knows(restored, 4);
  set_segments(&options, text, segments, 2, restored);
  add_up(communicator, given, sum, elements, &options);
  expect(memcmp(sum, dense, half * sizeof *sum) == 0 && (int)sum[half] == 1, "what was restored decides alike");
  set_method(&options, NULL);
  lacuna_skip_importance_free(importance);
  lacuna_skip_importance_free(restored);
  lacuna_skip_importance_free(NULL);
  lacuna_state_free(NULL);
  free(saved);
}

static void segments_are_treated(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  float given[elements], sum[elements];
  for (int i = 0; i < elements; ++i) given[i] = 1;
  lacuna_skip_segment segments[] = {{0, half, LACUNA_POLICY_NEVER, 0}, {half, half, LACUNA_POLICY_SKIP, 0}};
  char text[64];
  snprintf(text, sizeof text, "steps=%d", (int)ranks - 1);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  set_segments(&options, text, segments, 2, NULL);
  add_up(communicator, given, sum, elements, &options);
  expect((int)sum[0] == ranks && (int)sum[half] == ranks, "segments below 4096 bytes are dense");
  snprintf(text, sizeof text, "steps=%d,small=1", (int)ranks - 1);
  set_segments(&options, text, segments, 2, NULL);
  memset(segments, 0, sizeof segments); /* they were copied */
  add_up(communicator, given, sum, elements, &options);
  expect((int)sum[half - 1] == ranks, "one that is never skipped");
  expect((int)sum[half] == 1 && (int)sum[elements - 1] == 1, "one that is");
  set_segments(&options, text, NULL, 0, NULL);
  add_up(communicator, given, sum, elements, &options);
  expect((int)sum[0] == 1 && (int)sum[elements - 1] == 1, "without segments all of it is skipped");
  set_method(&options, NULL);
}

/* A call that has this method is refused; it is freed. */
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
  expect_status(lacuna_skip_create(text, segments, count, NULL, &method), LACUNA_OK, "a method with segments");
  return method;
}

static void segments_refused(const char* text, const lacuna_skip_segment* segments, size_t count, const char* part) {
  lacuna_method* method = NULL;
  expect_error(lacuna_skip_create(text, segments, count, NULL, &method), LACUNA_INVALID_ARGUMENT, part, part);
  expect(method == NULL, "a refused method gives no handle");
}

static void refused_options(lacuna_communicator* communicator) {
  expect_refused(communicator, skip_with("feedback=1,mode=shuffled", NULL, 0), "skip.feedback needs a state");
  expect_refused(communicator, skip_with("warm_up=1", NULL, 0), "need a state");
  expect_refused(communicator, skip_with("schedule=0:0", NULL, 0), "need a state");
  expect_refused(communicator, skip_with("audit=1", NULL, 0), "skip.audit needs a state");
  lacuna_skip_segment segment = {0, elements, 3, 0};
  segments_refused(NULL, NULL, 4, "segments is null, and segment_count is 4");
  segments_refused(NULL, &segment, 1, "policy is 3, must be 0 .. 2");
  segment.policy = -1;
  segments_refused("", &segment, 1, "policy is -1, must be 0 .. 2");
  segment.policy = LACUNA_POLICY_AUTOMATIC;
  segments_refused("stepz=1", &segment, 1, "skip has no option 'stepz' (did you mean steps?)");
  expect_error(lacuna_skip_create(NULL, &segment, 1, NULL, NULL), LACUNA_INVALID_ARGUMENT, "method is null",
               "segments without a place");
  expect_refused(communicator, skip_with("small=0", &segment, 1), "needs skip.importance");
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
  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  unsigned char bytes[8] = {0};
  size_t number = 0;
  lacuna_skip_importance* importance = NULL;
  lacuna_segment_importance segment = LACUNA_SEGMENT_IMPORTANCE_INIT;
  lacuna_skip_importance_options how = LACUNA_SKIP_IMPORTANCE_OPTIONS_INIT;
  expect_error(lacuna_skip_importance_create(NULL, NULL), bad, "importance is null", "importance without a place");
  how.every = 0;
  expect_error(lacuna_skip_importance_create(&how, &importance), bad, "every is 0", "importance never measured");
  how.every = 1;
  how.samples = 0;
  expect_error(lacuna_skip_importance_create(&how, &importance), bad, "samples is 0", "importance of nothing");
  how.samples = 1;
  how.threshold = (double)NAN;
  expect_error(lacuna_skip_importance_create(&how, &importance), bad, "threshold is", "a threshold that is no number");
  how.threshold = 1.5;
  expect_error(lacuna_skip_importance_create(&how, &importance), bad, "threshold is 1.5", "a threshold beyond all");
  expect(importance == NULL, "what is refused gives no handle");
  expect_error(lacuna_skip_importance_segments(NULL, &number), bad, "importance is null", "segments of nothing");
  expect_error(lacuna_skip_importance_segment(NULL, 0, &segment), bad, "importance is null", "a segment of nothing");
  expect_error(lacuna_skip_importance_save(NULL, bytes, 8, &number), bad, "importance is null", "save of nothing");
  expect_error(lacuna_skip_importance_restore(NULL, bytes, 8), bad, "importance is null", "restore of nothing");
  expect_status(lacuna_skip_importance_create(NULL, &importance), LACUNA_OK, "importance");
  expect_error(lacuna_skip_importance_segments(importance, NULL), bad, "count is null", "segments without a place");
  expect_error(lacuna_skip_importance_segment(importance, 0, NULL), bad, "segment is null", "a segment's place");
  lacuna_skip_importance_free(importance);
}

void skipping_segments(lacuna_communicator* communicator) {
  automatic(communicator);
  segments_are_treated(communicator);
  refused_options(communicator);
  refused_importance();
}
