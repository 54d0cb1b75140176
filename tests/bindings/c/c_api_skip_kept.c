/* What skipping keeps from call to call, saved and restored, and what the C interface refuses of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bindings/c/c_api_test.h"

enum { elements = 64, half = elements / 2, room = 100000 };

static int equal(const float* one, const float* other) { return memcmp(one, other, elements * sizeof *one) == 0; }

static void add_up(lacuna_communicator* communicator, const float* given, float* sum, const lacuna_options* options) {
  float input[elements];
  memcpy(input, given, sizeof input);
  const lacuna_buffer in = buffer_of(input, elements), out = buffer_of(sum, elements);
  expect_status(lacuna_allreduce(communicator, &in, &out, LACUNA_SUM, options, NULL), LACUNA_OK, "allreduce");
}

/* Flips each byte, and cuts the end off: all of that is refused. */
static void damages(unsigned char* bytes, size_t length, lacuna_status (*restore)(void*, const void*, size_t),
                    void* handle) {
  for (size_t i = 0; i < length; ++i) {
    bytes[i] ^= 0x10;
    expect_status(restore(handle, bytes, length), LACUNA_INVALID_ARGUMENT, "damaged bytes");
    bytes[i] ^= 0x10;
    expect_status(restore(handle, bytes, i), LACUNA_INVALID_ARGUMENT, "bytes cut short");
  }
  expect_status(restore(handle, bytes, length + 1), LACUNA_INVALID_ARGUMENT, "bytes too many");
}

static lacuna_status restore_state(void* state, const void* bytes, size_t length) {
  return lacuna_skip_state_restore(state, bytes, length);
}

static lacuna_status restore_importance(void* importance, const void* bytes, size_t length) {
  return lacuna_skip_importance_restore(importance, bytes, length);
}

static void feedback(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  float given[elements], dense[elements], first[elements], second[elements], again[elements], kept[elements] = {0};
  unsigned char* saved = malloc(room);
  size_t length = 0;
  for (int i = 0; i < elements; ++i) given[i] = (float)(i + 1 + 100 * lacuna_rank(communicator));
  lacuna_skip_state* state = NULL;
  expect_status(lacuna_skip_state_create(1, 2, &state), LACUNA_OK, "a state");
  lacuna_skip skip = LACUNA_SKIP_INIT;
  skip.feedback = 1;
  skip.state = state;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  options.skip_steps = ranks / 2;
  options.skip_mode = LACUNA_SKIP_RANDOM;
  options.skip = &skip;

  add_up(communicator, given, dense, NULL);
  add_up(communicator, given, first, &options);
  expect_error(lacuna_skip_state_save(state, saved, 3, &length), LACUNA_INVALID_ARGUMENT, "capacity is 3", "no room");
  expect(length > 0 && length < room - 1, "the length is told");
  expect_status(lacuna_skip_state_save(state, saved, length, &length), LACUNA_OK, "save");
  add_up(communicator, given, second, &options);
  lacuna_skip_state_values values = LACUNA_SKIP_STATE_VALUES_INIT;
  expect_status(lacuna_get_skip_state(state, &values), LACUNA_OK, "the values of a state");
  expect(values.residual_bytes == (ranks > 1 ? sizeof kept : 0), "what is left out is kept");
  if (ranks > 1) memcpy(kept, values.residual, sizeof kept);
  add_up(communicator, kept, again, NULL);
  int conserved = 1;
  for (int i = 0; i < elements; ++i) conserved = conserved && fabsf(first[i] + second[i] + again[i] - 2 * dense[i]) < 1;
  expect(conserved, "what went in came out or is kept");

  damages(saved, length, restore_state, state);
  lacuna_skip_state_values now = LACUNA_SKIP_STATE_VALUES_INIT;
  expect_status(lacuna_get_skip_state(state, &now), LACUNA_OK, "the values of a state");
  expect(now.runs == 2 && now.sampler.draw == values.sampler.draw && now.residual == values.residual,
         "what is refused changes nothing");
  lacuna_skip_state_free(state);
  expect_status(lacuna_skip_state_create(8, 9, &state), LACUNA_OK, "another state");
  expect_status(lacuna_skip_state_restore(state, saved, length), LACUNA_OK, "restore");
  expect_status(lacuna_get_skip_state(state, &now), LACUNA_OK, "the values of a state");
  expect(now.runs == 1 && now.sampler.seed == 1 && now.sampler.key == 2 && now.sampler.draw == (ranks > 1 ? 1u : 0u),
         "runs and sampler are what they were");
  expect(now.residual_bytes == values.residual_bytes, "so is the residual's length");
  skip.state = state;
  add_up(communicator, given, again, &options);
  expect(equal(again, second), "a restored state goes on as the one that was saved");
  lacuna_skip_importance* importance = NULL;
  expect_status(lacuna_skip_importance_create(NULL, &importance), LACUNA_OK, "importance");
  expect_error(lacuna_skip_importance_restore(importance, saved, length), LACUNA_INVALID_ARGUMENT,
               "no saved lacuna_skip_importance", "a state is no importance");
  lacuna_skip_importance_free(importance);
  lacuna_skip_state_free(state);
  free(saved);
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

/* The first half is large, the second small; both are measured in the first run. */
static void automatic(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  float given[elements], dense[elements], sum[elements];
  unsigned char* saved = malloc(room);
  size_t length = 0;
  for (int i = 0; i < elements; ++i) given[i] = i < half ? 1024 : 1;
  add_up(communicator, given, dense, NULL);
  lacuna_skip_importance_options how = LACUNA_SKIP_IMPORTANCE_OPTIONS_INIT;
  how.threshold = 0.4;
  lacuna_skip_importance *importance = NULL, *restored = NULL;
  expect_status(lacuna_skip_importance_create(&how, &importance), LACUNA_OK, "importance");
  expect_status(lacuna_skip_importance_create(&how, &restored), LACUNA_OK, "importance to restore");
  const lacuna_skip_segment segments[] = {{0, half, LACUNA_POLICY_AUTOMATIC, 70},
                                          {half, half, LACUNA_POLICY_AUTOMATIC, 71}};
  lacuna_skip skip = LACUNA_SKIP_INIT;
  skip.segments = segments;
  skip.segment_count = 2;
  skip.small = 16;
  skip.importance = importance;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  options.skip_steps = ranks - 1;
  options.skip = &skip;
  add_up(communicator, given, sum, &options);
  expect(equal(sum, dense), "the first run is dense");
  for (int run = 0; run < 3; ++run) {
    add_up(communicator, given, sum, &options);
    expect(memcmp(sum, dense, half * sizeof *sum) == 0, "the important segment stays dense");
    expect((int)sum[half] == 1 && (int)sum[elements - 1] == 1, "the other one is skipped");
  }
  knows(importance, 4);
  expect_status(lacuna_skip_importance_save(importance, saved, room, &length), LACUNA_OK, "save");
  damages(saved, length, restore_importance, restored);
  size_t count = 77;
  expect_status(lacuna_skip_importance_segments(restored, &count), LACUNA_OK, "the number of segments");
  expect(count == 0, "what is refused changes nothing");
  expect_status(lacuna_skip_importance_restore(restored, saved, length), LACUNA_OK, "restore");
  knows(restored, 4);
  skip.importance = restored;
  add_up(communicator, given, sum, &options);
  expect(memcmp(sum, dense, half * sizeof *sum) == 0 && (int)sum[half] == 1, "what was restored decides alike");
  lacuna_skip_importance_free(importance);
  lacuna_skip_importance_free(restored);
  lacuna_skip_importance_free(NULL);
  lacuna_skip_state_free(NULL);
  free(saved);
}

static void segments_are_treated(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  float given[elements], sum[elements];
  for (int i = 0; i < elements; ++i) given[i] = 1;
  const lacuna_skip_segment segments[] = {{0, half, LACUNA_POLICY_NEVER, 0}, {half, half, LACUNA_POLICY_SKIP, 0}};
  lacuna_skip skip = LACUNA_SKIP_INIT;
  skip.segments = segments;
  skip.segment_count = 2;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.skip_steps = ranks - 1;
  options.skip = &skip;
  add_up(communicator, given, sum, &options);
  expect((int)sum[0] == ranks && (int)sum[half] == ranks, "segments below 4096 bytes are dense");
  skip.small = 1;
  add_up(communicator, given, sum, &options);
  expect((int)sum[half - 1] == ranks, "one that is never skipped");
  expect((int)sum[half] == 1 && (int)sum[elements - 1] == 1, "one that is");
}

static void expect_refused(lacuna_communicator* communicator, const lacuna_skip* skip, const char* part) {
  float data[elements] = {0};
  const lacuna_buffer buffer = buffer_of(data, elements);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  options.skip_mode = LACUNA_SKIP_SHUFFLED;
  options.skip = skip;
  expect_error(lacuna_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, NULL), LACUNA_INVALID_ARGUMENT,
               part, part);
}

static void refused_options(lacuna_communicator* communicator) {
  const lacuna_skip none = LACUNA_SKIP_INIT;
  lacuna_skip skip = none;
  skip.struct_size = sizeof skip + 1;
  expect_refused(communicator, &skip, "skip: struct_size is");
  skip.struct_size = 0;
  expect_refused(communicator, &skip, "skip: struct_size is 0");
  skip = none;
  skip.scale = 3;
  expect_refused(communicator, &skip, "skip.scale is 3, must be 0 .. 2");
  skip = none;
  skip.ratio = (double)NAN;
  expect_refused(communicator, &skip, "skip.ratio is nan, must be 0 .. 1");
  skip.ratio = 1.5;
  expect_refused(communicator, &skip, "skip.ratio is 1.5");
  skip = none;
  skip.factor = (double)INFINITY;
  expect_refused(communicator, &skip, "skip.factor is inf");
  skip = none;
  skip.gather_steps = -1;
  expect_refused(communicator, &skip, "gather_steps is -1");
  skip = none;
  skip.feedback = 1;
  expect_refused(communicator, &skip, "skip.feedback needs a skip.state");
  skip = none;
  skip.warm_up = 1;
  expect_refused(communicator, &skip, "need a skip.state");
  skip = none;
  skip.stages = 3;
  expect_refused(communicator, &skip, "skip.schedule is null, and skip.stages is 3");
  skip = none;
  skip.segment_count = 4;
  expect_refused(communicator, &skip, "skip.segments is null, and skip.segment_count is 4");
  lacuna_skip_segment segment = {0, elements, 3, 0};
  skip.segments = &segment;
  skip.segment_count = 1;
  expect_refused(communicator, &skip, "policy is 3, must be 0 .. 2");
  segment.policy = LACUNA_POLICY_AUTOMATIC;
  expect_refused(communicator, &skip, "needs skip.importance");
  segment.policy = LACUNA_POLICY_NEVER;
  segment.count = elements - 1;
  expect_refused(communicator, &skip, "must cover exactly the 64 elements");
  skip = none;
  skip.ratio = 0.5;
  float data[1] = {0};
  const lacuna_buffer buffer = buffer_of(data, 1);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.skip = &skip;
  expect_error(lacuna_send(communicator, &buffer, 0, 0, &options, NULL), LACUNA_INVALID_ARGUMENT, "steps to skip",
               "a message that skips");
  expect_status(lacuna_communicator_status(communicator), LACUNA_OK, "errors of arguments poison nothing");
}

static void refused_handles(void) {
  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  unsigned char bytes[8] = {0};
  size_t number = 0;
  lacuna_skip_state* state = NULL;
  lacuna_skip_state_values values = LACUNA_SKIP_STATE_VALUES_INIT;
  lacuna_skip_importance* importance = NULL;
  lacuna_segment_importance segment = LACUNA_SEGMENT_IMPORTANCE_INIT;
  lacuna_skip_importance_options how = LACUNA_SKIP_IMPORTANCE_OPTIONS_INIT;
  expect_error(lacuna_skip_state_create(0, 0, NULL), bad, "state is null", "a state without a place");
  expect_error(lacuna_get_skip_state(NULL, &values), bad, "state is null", "values of nothing");
  expect_error(lacuna_skip_state_save(NULL, bytes, 8, &number), bad, "state is null", "save of nothing");
  expect_error(lacuna_skip_state_restore(NULL, bytes, 8), bad, "state is null", "restore of nothing");
  expect_status(lacuna_skip_state_create(0, 0, &state), LACUNA_OK, "a state");
  expect_error(lacuna_get_skip_state(state, NULL), bad, "values is null", "values without a place");
  values.struct_size += 1;
  expect_error(lacuna_get_skip_state(state, &values), bad, "struct_size", "values from the future");
  expect_error(lacuna_skip_state_save(state, NULL, 8, &number), bad, "bytes is null", "save without a place");
  expect_error(lacuna_skip_state_save(state, bytes, 8, NULL), bad, "length is null", "save without a length");
  expect_error(lacuna_skip_state_restore(state, NULL, 8), bad, "bytes is null", "restore from nothing");
  expect_error(lacuna_skip_state_restore(state, bytes, 8), bad, "no saved lacuna_skip_state", "restore of zeros");
  lacuna_skip_state_free(state);
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

void skipping_keeps(lacuna_communicator* communicator) {
  feedback(communicator);
  automatic(communicator);
  segments_are_treated(communicator);
  refused_options(communicator);
  refused_handles();
}
