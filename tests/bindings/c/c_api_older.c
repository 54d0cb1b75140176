/*
 * A program that was compiled with an older lacuna.h. Its structures lack the members that came later, and rubbish lies
 * behind them in memory. It runs alone, or as the ranks of a job. It must not include lacuna.h.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ok = 0, sum = 0, u8 = 6, allreduce = 0, allgatherv = 12, elements = 24, rubbish = 0xa5 };

typedef struct {
  size_t struct_size;
  int32_t rank;
  int32_t world_size;
  const char* store;
} older_world_options;

typedef struct {
  size_t struct_size;
  void* data;
  size_t count;
  int32_t dtype;
  int32_t memory;
} older_buffer;

typedef struct {
  size_t struct_size;
  const size_t* counts;
} older_blocks;

typedef struct {
  size_t struct_size;
  int32_t collective;
  int32_t reduction;
  int32_t root;
  const void* input;
  const void* output;
} older_call;

/* The structure as it was before entries. */
typedef struct {
  older_call first;
  const void* input_blocks;
  const void* output_blocks;
} newer_call;

typedef struct {
  uint64_t seed;
  uint64_t key;
  uint64_t draw;
} older_sampler;

typedef struct {
  size_t struct_size;
  const char* algorithm;
  const void* method;
  void* state;
  older_sampler* sampler;
} older_options;

/* The structure as it was before prepare. */
typedef struct {
  older_options first;
  int32_t priority;
  double deadline;
  int32_t notify;
  uint64_t token;
} newer_options;

typedef struct {
  size_t struct_size;
  int32_t rounds;
  int32_t dense_rounds;
  uint64_t sent;
  uint64_t dense_sent;
} older_report;

typedef struct {
  size_t struct_size;
  older_sampler sampler;
  uint64_t runs;
} older_state_values;

typedef struct {
  size_t struct_size;
  const char* name;
  const void* data;
  size_t count;
} older_state_array;

typedef struct {
  size_t struct_size;
  uint64_t payload_sent;
  uint64_t header_sent;
} older_counters;

int lacuna_join(const void* options, void** communicator);
void lacuna_communicator_free(void* communicator);
int32_t lacuna_rank(const void* communicator);
int32_t lacuna_size(const void* communicator);
const char* lacuna_last_error(void);
int lacuna_get_counters(const void* communicator, void* counters);
int lacuna_execute(void* communicator, const void* call, const void* options, void** request);
int lacuna_barrier(void* communicator);
int lacuna_wait(void* request, double timeout);
void lacuna_request_free(void* request);
int lacuna_method_create(const char* name, const char* options, void** method);
void lacuna_method_free(void* method);
int lacuna_state_create(const void* method, uint64_t seed, uint64_t key, void** state);
void lacuna_state_free(void* state);
int lacuna_get_state(const void* state, void* values);
int lacuna_get_state_array(const void* state, size_t index, void* array);
int lacuna_get_report(const void* request, void* report);

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "FAILED: %s (last error: %s)\n", what, lacuna_last_error());
}

/* A structure with rubbish behind it. */
typedef struct {
  union {
    older_world_options world;
    older_buffer buffer;
    older_call call;
    newer_call with_blocks;
    older_blocks blocks;
    older_options options;
    newer_options newer;
    older_counters counters;
    older_report report;
    older_state_values values;
    older_state_array array;
    unsigned char bytes[256];
  } is;
} placed;

static placed place(const void* structure, size_t size) {
  placed value;
  memset(&value, rubbish, sizeof value);
  memcpy(&value, structure, size);
  return value;
}

static placed place_buffer(void* data, size_t count, int32_t dtype) {
  older_buffer buffer = {sizeof buffer, NULL, 0, 0, 0};
  buffer.data = data;
  buffer.count = count;
  buffer.dtype = dtype;
  return place(&buffer, sizeof buffer);
}

static placed place_allreduce(const placed* buffer) {
  const older_call call = {sizeof call, allreduce, sum, 0, buffer, buffer};
  return place(&call, sizeof call);
}

static void* join(void) {
  const older_world_options options = {sizeof options, -1, -1, NULL};
  const placed world = place(&options, sizeof options);
  void* communicator = NULL;
  expect(lacuna_join(&world, &communicator) == ok, "joins with options without key and progress");
  return communicator;
}

static void reduces(void* communicator) {
  float data[elements];
  for (int i = 0; i < elements; ++i) data[i] = 1;
  const placed buffer = place_buffer(data, elements, 0), call = place_allreduce(&buffer);
  expect(lacuna_execute(communicator, &call, NULL, NULL) == ok,
         "reduces a buffer without device by a call without blocks");
  int right = 1;
  for (int i = 0; i < elements; ++i) right = right && (int)data[i] == lacuna_size(communicator);
  expect(right, "the reduction is right");
}

/* Nothing must have been written behind a structure of this size that was filled. */
static void expect_untouched(const placed* filled, size_t size) {
  int untouched = 1;
  for (size_t i = size; i < sizeof *filled; ++i) untouched = untouched && filled->is.bytes[i] == rubbish;
  expect(untouched, "nothing is written behind the structure");
}

static void* skipping_all(void* communicator, const char* more) {
  char text[100];
  void* method = NULL;
  snprintf(text, sizeof text, "steps=%d,%s", (int)lacuna_size(communicator) - 1, more);
  expect(lacuna_method_create("skip", text, &method) == ok, text);
  return method;
}

/* With all rounds left out each piece stays as its owner gave it. */
static void skips(void* communicator) {
  float data[elements];
  for (int i = 0; i < elements; ++i) data[i] = 1;
  older_sampler sampler = {1, 2, 3};
  older_options skipping = {sizeof skipping, "skip_ring", NULL, NULL, NULL};
  void* method = skipping_all(communicator, "mode=random");
  skipping.method = method;
  skipping.sampler = &sampler;
  const placed options = place(&skipping, sizeof skipping), buffer = place_buffer(data, elements, 0);
  const placed call = place_allreduce(&buffer);
  expect(lacuna_execute(communicator, &call, &options, NULL) == ok,
         "skips with options without priority, deadline, notify, token and prepare");
  int right = 1;
  for (int i = 0; i < elements; ++i) right = right && (int)data[i] == 1;
  expect(right, "all was skipped");
  expect(sampler.seed == 1 && sampler.key == 2 && sampler.draw == (lacuna_size(communicator) > 1 ? 4u : 3u),
         "the sampler, which has no size, is what it always was");
  lacuna_method_free(method);
}

/* A method writes what it reports into structures that lack members. */
static void tells(void* communicator, void* request, void* state) {
  const int alone = lacuna_size(communicator) == 1;
  const older_report no_report = {sizeof no_report, 7, 7, 7, 7};
  placed report = place(&no_report, sizeof no_report);
  expect(lacuna_get_report(request, &report) == ok, "a report without what is received");
  expect(report.is.report.struct_size == sizeof no_report, "struct_size stays as it was");
  expect(report.is.report.rounds == (alone ? 0 : lacuna_size(communicator) - 1), "half of the rounds were skipped");
  expect(report.is.report.dense_rounds == 2 * report.is.report.rounds, "of those of the dense call");
  expect_untouched(&report, sizeof no_report);

  const older_state_values no_values = {sizeof no_values, {7, 7, 7}, 7};
  placed values = place(&no_values, sizeof no_values);
  expect(lacuna_get_state(state, &values) == ok, "values without the number of arrays");
  expect(values.is.values.struct_size == sizeof no_values && values.is.values.runs == 1, "runs are counted");
  expect(values.is.values.sampler.seed == 5 && values.is.values.sampler.key == 6, "the sampler is the state's");
  expect_untouched(&values, sizeof no_values);
  if (alone) return;

  const older_state_array no_array = {sizeof no_array, NULL, NULL, 0};
  placed array = place(&no_array, sizeof no_array);
  expect(lacuna_get_state_array(state, 0, &array) == ok, "an array without type and owner");
  expect(array.is.array.struct_size == sizeof no_array && array.is.array.count == elements, "its length");
  expect(strcmp(array.is.array.name, "residual") == 0 && array.is.array.data, "its name and place");
  expect_untouched(&array, sizeof no_array);
}

/* The library must not read what lies where later options have more members, padding included. */
static void skips_with_all_options(void* communicator) {
  float data[elements];
  for (int i = 0; i < elements; ++i) data[i] = 1;
  void *method = skipping_all(communicator, "feedback=1"), *state = NULL, *request = NULL;
  expect(lacuna_state_create(method, 5, 6, &state) == ok, "a state");
  newer_options skipping;
  memset(&skipping, rubbish, sizeof skipping);
  skipping.first.struct_size = sizeof skipping;
  skipping.first.algorithm = "skip_ring";
  skipping.first.method = method;
  skipping.first.state = state;
  skipping.first.sampler = NULL;
  skipping.priority = 1;
  skipping.deadline = 0;
  skipping.notify = 0;
  const placed options = place(&skipping, sizeof skipping), buffer = place_buffer(data, elements, 0);
  const placed call = place_allreduce(&buffer);
  expect(lacuna_execute(communicator, &call, &options, &request) == ok, "skips with options without prepare");
  expect(lacuna_wait(request, -1) == ok, "and has been started by that");
  int right = 1;
  for (int i = 0; i < elements; ++i) right = right && (int)data[i] == 1;
  expect(right, "all but the owner's was skipped");
  tells(communicator, request, state);
  lacuna_request_free(request);
  lacuna_state_free(state);
  lacuna_method_free(method);
}

/* Rank r has r + 1 bytes of value r. */
static void gathers(void* communicator) {
  const size_t ranks = (size_t)lacuna_size(communicator), me = (size_t)lacuna_rank(communicator);
  const size_t total = ranks * (ranks + 1) / 2;
  size_t* counts = malloc(ranks * sizeof *counts);
  unsigned char *mine = malloc(me + 1), *all = calloc(total, 1);
  for (size_t rank = 0; rank < ranks; ++rank) counts[rank] = rank + 1;
  memset(mine, (int)me, me + 1);
  older_blocks lengths = {sizeof lengths, NULL};
  lengths.counts = counts;
  const placed blocks = place(&lengths, sizeof lengths);
  const placed input = place_buffer(mine, me + 1, u8), output = place_buffer(all, total, u8);
  const newer_call gathering = {{sizeof gathering, allgatherv, sum, 0, &input, &output}, NULL, &blocks};
  const placed call = place(&gathering, sizeof gathering);
  expect(lacuna_execute(communicator, &call, NULL, NULL) == ok, "gathers blocks without offsets and received");
  int right = 1;
  for (size_t rank = 0, next = 0; rank < ranks; ++rank) {
    for (size_t i = 0; i <= rank; ++i) right = right && all[next++] == rank;
  }
  expect(right, "the blocks are right");
  free(counts);
  free(mine);
  free(all);
}

static void counts(void* communicator) {
  const older_counters empty = {sizeof empty, 0, 0};
  placed counters = place(&empty, sizeof empty);
  expect(lacuna_get_counters(communicator, &counters) == ok, "counts without messages and what is received");
  expect(counters.is.counters.struct_size == sizeof empty, "struct_size stays as it was");
  expect((counters.is.counters.payload_sent > 0) == (lacuna_size(communicator) > 1), "what was sent is counted");
  expect_untouched(&counters, sizeof empty);
}

int main(void) {
  void* communicator = join();
  if (!communicator) return EXIT_FAILURE;
  reduces(communicator);
  skips(communicator);
  skips_with_all_options(communicator);
  gathers(communicator);
  expect(lacuna_barrier(communicator) == ok, "barrier");
  counts(communicator);
  lacuna_communicator_free(communicator);
  if (failures == 0) printf("all passed\n");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
