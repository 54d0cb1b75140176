/* What skipping keeps from call to call, saved and restored, and what the C interface refuses of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/lacuna_skip.h"
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
  return lacuna_state_restore(state, bytes, length);
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
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  set_skip(&options, "steps=%d,mode=random,feedback=1", (int)ranks / 2);
  lacuna_state* state = NULL;
  expect_status(lacuna_state_create(options.method, 1, 2, &state), LACUNA_OK, "a state");
  options.state = state;

  add_up(communicator, given, dense, NULL);
  add_up(communicator, given, first, &options);
  expect_error(lacuna_state_save(state, saved, 3, &length), LACUNA_INVALID_ARGUMENT, "capacity is 3", "no room");
  expect(length > 0 && length < room - 1, "the length is told");
  expect_status(lacuna_state_save(state, saved, length, &length), LACUNA_OK, "save");
  add_up(communicator, given, second, &options);
  lacuna_state_array residual = LACUNA_STATE_ARRAY_INIT, now = LACUNA_STATE_ARRAY_INIT;
  expect(find_array(state, "residual", &residual) == (ranks > 1), "what is left out is kept");
  expect(ranks == 1 || (residual.count == elements && residual.dtype == LACUNA_F32 && residual.own == 1),
         "as what this rank gave");
  if (ranks > 1) memcpy(kept, residual.data, sizeof kept);
  add_up(communicator, kept, again, NULL);
  int conserved = 1;
  for (int i = 0; i < elements; ++i) conserved = conserved && fabsf(first[i] + second[i] + again[i] - 2 * dense[i]) < 1;
  expect(conserved, "what went in came out or is kept");

  lacuna_state_values before = LACUNA_STATE_VALUES_INIT, values = LACUNA_STATE_VALUES_INIT;
  expect_status(lacuna_get_state(state, &before), LACUNA_OK, "the values of a state");
  damages(saved, length, restore_state, state);
  expect_status(lacuna_get_state(state, &values), LACUNA_OK, "the values of a state");
  find_array(state, "residual", &now);
  expect(values.runs == 2 && values.sampler.draw == before.sampler.draw && values.arrays == before.arrays &&
             now.data == residual.data && (ranks == 1 || memcmp(now.data, kept, sizeof kept) == 0),
         "what is refused changes nothing");
  lacuna_state_free(state);
  expect_status(lacuna_state_create(NULL, 8, 9, &state), LACUNA_OK, "another state");
  expect_status(lacuna_state_restore(state, saved, length), LACUNA_OK, "restore");
  expect_status(lacuna_get_state(state, &values), LACUNA_OK, "the values of a state");
  expect(values.runs == 1 && values.sampler.seed == 1 && values.sampler.key == 2 &&
             values.sampler.draw == (ranks > 1 ? 1u : 0u),
         "runs and sampler are what they were");
  expect(find_array(state, "residual", &now) == (ranks > 1) && now.count == residual.count,
         "so is the residual's length");
  options.state = state;
  add_up(communicator, given, again, &options);
  expect(equal(again, second), "a restored state goes on as the one that was saved");
  lacuna_skip_importance* importance = NULL;
  expect_status(lacuna_skip_importance_create(NULL, &importance), LACUNA_OK, "importance");
  expect_error(lacuna_skip_importance_restore(importance, saved, length), LACUNA_INVALID_ARGUMENT,
               "no saved SkipImportance", "a state is no importance");
  lacuna_skip_importance_free(importance);
  lacuna_state_free(state);
  set_method(&options, NULL);
  free(saved);
}

/* A state with two arrays, one of them each rank's own: all of it comes back, in place of what another state had. */
static void arrays_are_kept(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator);
  const char* const names[] = {"residual", "audit"};
  float given[elements], sum[elements], other[elements];
  unsigned char *saved = malloc(room), *again = malloc(room);
  size_t length = 0, length_again = 0;
  for (int i = 0; i < elements; ++i) given[i] = (float)(i + 3 * lacuna_rank(communicator));
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  set_skip(&options, "steps=%d,mode=shuffled,feedback=1,audit=1,audit_samples=16", (int)ranks - 1);
  lacuna_state *one = NULL, *two = NULL;
  expect_status(lacuna_state_create(options.method, 3, 4, &one), LACUNA_OK, "a state");
  expect_status(lacuna_state_create(options.method, 5, 6, &two), LACUNA_OK, "another state");
  options.state = two;
  add_up(communicator, given, other, &options); /* has arrays of its own by now */
  options.state = one;
  for (int run = 0; run < 3; ++run) add_up(communicator, given, sum, &options);
  expect_status(lacuna_state_save(one, saved, room, &length), LACUNA_OK, "save");
  expect_status(lacuna_state_restore(two, saved, length), LACUNA_OK, "restore");
  expect_status(lacuna_state_save(two, again, room, &length_again), LACUNA_OK, "save what was restored");
  expect(length == length_again && memcmp(saved, again, length) == 0, "what was restored is saved alike");
  lacuna_state_values values = LACUNA_STATE_VALUES_INIT;
  expect_status(lacuna_get_state(two, &values), LACUNA_OK, "the values of a state");
  expect(values.runs == 3 && values.arrays == (ranks > 1 ? 2u : 0u), "runs and arrays are those that were saved");
  for (int i = 0; i < 2 && ranks > 1; ++i) {
    lacuna_state_array here = LACUNA_STATE_ARRAY_INIT, there = LACUNA_STATE_ARRAY_INIT;
    expect(find_array(one, names[i], &here) && find_array(two, names[i], &there), names[i]);
    expect(here.count == there.count && here.dtype == there.dtype && here.own == there.own, "its form");
    expect(here.own == (i == 0) && here.dtype == (i == 0 ? LACUNA_F32 : LACUNA_F64), "whose it is, and its type");
    expect(memcmp(here.data, there.data, here.count * (i == 0 ? sizeof(float) : sizeof(double))) == 0, "its elements");
  }
  add_up(communicator, given, sum, &options);
  options.state = two;
  add_up(communicator, given, other, &options);
  expect(equal(sum, other), "both go on alike");
  lacuna_state_array array = LACUNA_STATE_ARRAY_INIT;
  expect_error(lacuna_get_state_array(two, values.arrays, &array), LACUNA_INVALID_ARGUMENT,
               "must be less than the number of arrays, ", "an array too many");
  lacuna_state_free(one);
  lacuna_state_free(two);
  set_method(&options, NULL);
  free(saved);
  free(again);
}

/* The others post their call once rank 0 has asked: until then its call can't end. */
static void a_state_in_use_is_busy(lacuna_communicator* communicator) {
  if (lacuna_size(communicator) == 1) return;
  float given[elements] = {1}, sum[elements], asked = 1;
  unsigned char* saved = malloc(room);
  size_t length = 77;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  options.algorithm = "skip_ring";
  set_skip(&options, "steps=1,feedback=1");
  expect_status(lacuna_state_create(options.method, 3, 4, &options.state), LACUNA_OK, "a state");
  const lacuna_buffer in = buffer_of(given, elements), out = buffer_of(sum, elements), word = buffer_of(&asked, 1);
  lacuna_request* request = NULL;
  if (lacuna_rank(communicator) > 0) {
    expect_status(lacuna_receive(communicator, &word, 0, 1, NULL, NULL, NULL), LACUNA_OK, "rank 0 has asked");
  }
  expect_status(lacuna_allreduce(communicator, &in, &out, LACUNA_SUM, &options, &request), LACUNA_OK, "start");
  if (lacuna_rank(communicator) == 0) {
    expect_error(lacuna_state_save(options.state, saved, room, &length), LACUNA_BUSY, "call that has not given",
                 "saving a state in use");
    expect(length == 77, "a refused save tells no length");
    expect_error(lacuna_state_restore(options.state, saved, 0), LACUNA_BUSY, "call that has not given",
                 "restoring a state in use");
    for (int32_t rank = 1; rank < lacuna_size(communicator); ++rank) {
      expect_status(lacuna_send(communicator, &word, rank, 1, NULL, NULL), LACUNA_OK, "the others may go on");
    }
  }
  expect_status(lacuna_wait(request, -1), LACUNA_OK, "wait");
  lacuna_request_free(request);
  expect_status(lacuna_state_save(options.state, saved, room, &length), LACUNA_OK, "save after the call");
  lacuna_state_free(options.state);
  set_method(&options, NULL);
  free(saved);
}

/* A state that was made for no method serves any; each other one serves the method that it was made for. */
static void a_state_serves_its_method(lacuna_communicator* communicator) {
  float given[elements] = {1}, sum[elements];
  const lacuna_buffer in = buffer_of(given, elements), out = buffer_of(sum, elements);
  lacuna_options options = LACUNA_OPTIONS_INIT;
  lacuna_method *topk = NULL, *other_skip = NULL;
  lacuna_state *of_skip = NULL, *of_any = NULL;
  expect_status(lacuna_method_create("topk", "density=0.5", &topk), LACUNA_OK, "topk");
  expect_status(lacuna_method_create("skip", "mode=random", &other_skip), LACUNA_OK, "skip otherwise");
  set_skip(&options, "mode=static");
  expect_status(lacuna_state_create(options.method, 1, 2, &of_skip), LACUNA_OK, "a state for skip");
  expect_status(lacuna_state_create(NULL, 1, 2, &of_any), LACUNA_OK, "a state for any method");
  options.state = of_skip;
  set_method(&options, topk);
  expect_error(lacuna_allreduce(communicator, &in, &out, LACUNA_SUM, &options, NULL), LACUNA_INVALID_ARGUMENT,
               "the state was made for the method skip; the call has topk", "a state of another method");
  options.state = of_any;
  expect_status(lacuna_allreduce(communicator, &in, &out, LACUNA_SUM, &options, NULL), LACUNA_OK, "any method's state");
  options.state = of_skip;
  set_method(&options, other_skip);
  expect_status(lacuna_allreduce(communicator, &in, &out, LACUNA_SUM, &options, NULL), LACUNA_OK,
                "a state of the same method, whatever its options");
  set_method(&options, NULL);
  expect_status(lacuna_allreduce(communicator, &in, &out, LACUNA_SUM, &options, NULL), LACUNA_OK, "without a method");
  lacuna_state_free(of_skip);
  lacuna_state_free(of_any);
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
  add_up(communicator, given, dense, NULL);
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
  set_segments(&options, text, segments, 2, restored);
  add_up(communicator, given, sum, &options);
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
  add_up(communicator, given, sum, &options);
  expect((int)sum[0] == ranks && (int)sum[half] == ranks, "segments below 4096 bytes are dense");
  snprintf(text, sizeof text, "steps=%d,small=1", (int)ranks - 1);
  set_segments(&options, text, segments, 2, NULL);
  memset(segments, 0, sizeof segments); /* they were copied */
  add_up(communicator, given, sum, &options);
  expect((int)sum[half - 1] == ranks, "one that is never skipped");
  expect((int)sum[half] == 1 && (int)sum[elements - 1] == 1, "one that is");
  set_segments(&options, text, NULL, 0, NULL);
  add_up(communicator, given, sum, &options);
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
  expect_error(lacuna_allreduce(communicator, &buffer, &buffer, LACUNA_SUM, &options, NULL), LACUNA_INVALID_ARGUMENT,
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

static void refused_handles(void) {
  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  unsigned char bytes[8] = {0};
  size_t number = 0;
  lacuna_state* state = NULL;
  lacuna_state_values values = LACUNA_STATE_VALUES_INIT;
  lacuna_state_array array = LACUNA_STATE_ARRAY_INIT;
  lacuna_skip_importance* importance = NULL;
  lacuna_segment_importance segment = LACUNA_SEGMENT_IMPORTANCE_INIT;
  lacuna_skip_importance_options how = LACUNA_SKIP_IMPORTANCE_OPTIONS_INIT;
  expect_error(lacuna_state_create(NULL, 0, 0, NULL), bad, "state is null", "a state without a place");
  expect_error(lacuna_get_state(NULL, &values), bad, "state is null", "values of nothing");
  expect_error(lacuna_get_state_array(NULL, 0, &array), bad, "state is null", "an array of nothing");
  expect_error(lacuna_state_save(NULL, bytes, 8, &number), bad, "state is null", "save of nothing");
  expect_error(lacuna_state_restore(NULL, bytes, 8), bad, "state is null", "restore of nothing");
  expect_status(lacuna_state_create(NULL, 0, 0, &state), LACUNA_OK, "a state");
  expect_error(lacuna_get_state(state, NULL), bad, "values is null", "values without a place");
  values.struct_size += 1;
  expect_error(lacuna_get_state(state, &values), bad, "struct_size", "values from the future");
  expect_error(lacuna_get_state_array(state, 0, NULL), bad, "array is null", "an array without a place");
  expect_error(lacuna_get_state_array(state, 0, &array), bad, "index is 0, must be less than the number of arrays, 0",
               "an array of a state that has none");
  array.struct_size += 1;
  expect_error(lacuna_get_state_array(state, 0, &array), bad, "struct_size", "an array from the future");
  expect_error(lacuna_state_save(state, NULL, 8, &number), bad, "bytes is null", "save without a place");
  expect_error(lacuna_state_save(state, bytes, 8, NULL), bad, "length is null", "save without a length");
  expect_error(lacuna_state_restore(state, NULL, 8), bad, "bytes is null", "restore from nothing");
  expect_error(lacuna_state_restore(state, bytes, 8), bad, "no saved state of a method", "restore of zeros");
  lacuna_state_free(state);
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
  a_state_in_use_is_busy(communicator);
  a_state_serves_its_method(communicator);
  arrays_are_kept(communicator);
  automatic(communicator);
  segments_are_treated(communicator);
  refused_options(communicator);
  refused_handles();
}
