/* What a state of skipping holds from call to call. It is saved and restored, and the C interface refuses wrong ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/lacuna_skip.h"
#include "tests/bindings/c/c_api_test.h"

enum { elements = 64, room = 100000 };

static int equal(const float* one, const float* other) { return memcmp(one, other, elements * sizeof *one) == 0; }

static lacuna_status restore_state(void* state, const void* bytes, size_t length) {
  return lacuna_state_restore(state, bytes, length);
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

  add_up(communicator, given, dense, elements, NULL);
  add_up(communicator, given, first, elements, &options);
  expect_error(lacuna_state_save(state, saved, 3, &length), LACUNA_INVALID_ARGUMENT, "capacity is 3", "no room");
  expect(length > 0 && length < room - 1, "the length is told");
  expect_status(lacuna_state_save(state, saved, length, &length), LACUNA_OK, "save");
  add_up(communicator, given, second, elements, &options);
  lacuna_state_array residual = LACUNA_STATE_ARRAY_INIT, now = LACUNA_STATE_ARRAY_INIT;
  expect(find_array(state, "residual", &residual) == (ranks > 1), "what is left out is kept");
  expect(ranks == 1 || (residual.count == elements && residual.dtype == LACUNA_F32 && residual.own == 1),
         "as what this rank gave");
  if (ranks > 1) memcpy(kept, residual.data, sizeof kept);
  add_up(communicator, kept, again, elements, NULL);
  int conserved = 1;
  for (int i = 0; i < elements; ++i) conserved = conserved && fabsf(first[i] + second[i] + again[i] - 2 * dense[i]) < 1;
  expect(conserved, "what went in came out or is kept");

  lacuna_state_values before = LACUNA_STATE_VALUES_INIT, values = LACUNA_STATE_VALUES_INIT;
  expect_status(lacuna_get_state(state, &before), LACUNA_OK, "the values of a state");
  refuses_damaged(saved, length, restore_state, state);
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
  add_up(communicator, given, again, elements, &options);
  expect(equal(again, second), "a restored state goes on as the one that was saved");
  size_t measured = 77;
  expect_status(lacuna_skip_get_importance(state, 0, NULL, &measured), LACUNA_OK, "importance");
  expect(measured == 0, "no segment was measured");
  lacuna_state_free(state);
  set_method(&options, NULL);
  free(saved);
}

/* Copies an array of a state that has some, and compares it with the array itself. */
static void copy_first_array(const lacuna_state* state) {
  lacuna_state_values values = LACUNA_STATE_VALUES_INIT;
  lacuna_state_array array = LACUNA_STATE_ARRAY_INIT;
  expect(lacuna_get_state(state, &values) == LACUNA_OK, "values of a state");
  if (values.arrays == 0) return;
  expect_status(lacuna_get_state_array(state, 0, &array), LACUNA_OK, "the first array");
  expect(array.memory == LACUNA_MEMORY_HOST, "it lies on the host");
  const size_t bytes = array.count * (array.dtype == LACUNA_F32 ? sizeof(float) : sizeof(double));
  void* copy = malloc(bytes + 1);
  expect_status(lacuna_copy_state_array(state, 0, copy, bytes), LACUNA_OK, "a copy of it");
  expect(memcmp(copy, array.data, bytes) == 0, "its elements");
  expect_error(lacuna_copy_state_array(state, 0, copy, bytes + 1), LACUNA_INVALID_ARGUMENT, ", the size of ",
               "a copy with too much room");
  free(copy);
}

/* A state has two arrays, and one of them differs between ranks. All of it comes back and replaces another state. */
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
  add_up(communicator, given, other, elements, &options); /* by now it has arrays of its own */
  options.state = one;
  for (int run = 0; run < 3; ++run) add_up(communicator, given, sum, elements, &options);
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
  copy_first_array(two);
  add_up(communicator, given, sum, elements, &options);
  options.state = two;
  add_up(communicator, given, other, elements, &options);
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

/* The others post their call once rank 0 has asked. Until then the call of rank 0 can't end. */
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
  expect_status(execute_allreduce(communicator, &in, &out, LACUNA_SUM, &options, &request), LACUNA_OK, "start");
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

/* A state that was made for no method serves any. Every other state serves the method for which it was made. */
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
  expect_error(execute_allreduce(communicator, &in, &out, LACUNA_SUM, &options, NULL), LACUNA_INVALID_ARGUMENT,
               "the state was made for the method skip; the call has topk", "a state of another method");
  options.state = of_any;
  expect_status(execute_allreduce(communicator, &in, &out, LACUNA_SUM, &options, NULL), LACUNA_OK,
                "any method's state");
  options.state = of_skip;
  set_method(&options, other_skip);
  expect_status(execute_allreduce(communicator, &in, &out, LACUNA_SUM, &options, NULL), LACUNA_OK,
                "a state of the same method, whatever its options");
  set_method(&options, NULL);
  expect_status(execute_allreduce(communicator, &in, &out, LACUNA_SUM, &options, NULL), LACUNA_OK, "without a method");
  lacuna_state_free(of_skip);
  lacuna_state_free(of_any);
}

static void refused_states(void) {
  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  unsigned char bytes[8] = {0};
  size_t number = 0;
  lacuna_state* state = NULL;
  lacuna_state_values values = LACUNA_STATE_VALUES_INIT;
  lacuna_state_array array = LACUNA_STATE_ARRAY_INIT;
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
  expect_error(lacuna_copy_state_array(NULL, 0, bytes, 8), bad, "state is null", "a copy of nothing");
  expect_error(lacuna_copy_state_array(state, 0, NULL, 8), bad, "elements is null", "a copy to nowhere");
  expect_error(lacuna_copy_state_array(state, 0, bytes, 8), bad,
               "index is 0, must be less than the number of arrays, 0", "a copy of an array that is not there");
  array.struct_size += 1;
  expect_error(lacuna_get_state_array(state, 0, &array), bad, "struct_size", "an array from the future");
  expect_error(lacuna_state_save(state, NULL, 8, &number), bad, "bytes is null", "save without a place");
  expect_error(lacuna_state_save(state, bytes, 8, NULL), bad, "length is null", "save without a length");
  expect_error(lacuna_state_restore(state, NULL, 8), bad, "bytes is null", "restore from nothing");
  expect_error(lacuna_state_restore(state, bytes, 8), bad, "no saved state of a method", "restore of zeros");
  lacuna_state_free(state);
}

void skipping_keeps(lacuna_communicator* communicator) {
  feedback(communicator);
  a_state_in_use_is_busy(communicator);
  a_state_serves_its_method(communicator);
  arrays_are_kept(communicator);
  refused_states();
}
