/*
 * A program that was compiled with an older lacuna.h: its structures lack the members that came later, and what lies
 * behind them in memory is rubbish. Alone, or as the ranks of a job. It must not include lacuna.h.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ok = 0, sum = 0, u8 = 6, random_skips = 1, elements = 24, rubbish = 0xa5 };

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
  uint64_t seed;
  uint64_t key;
  uint64_t draw;
} older_sampler;

typedef struct {
  size_t struct_size;
  const char* algorithm;
  int32_t skip_steps;
  int32_t skip_mode;
  older_sampler* sampler;
} older_options;

/* As it was before lacuna_skip. */
typedef struct {
  older_options first;
  int32_t priority;
  double deadline;
  int32_t notify;
  uint64_t token;
  int32_t prepare;
} newer_options;

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
int lacuna_allreduce(void* communicator, const void* input, const void* output, int reduction, const void* options,
                     void** request);
int lacuna_allgatherv(void* communicator, const void* input, const void* output, const void* blocks,
                      const void* options, void** request);
int lacuna_barrier(void* communicator, const void* options, void** request);

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
    older_blocks blocks;
    older_options options;
    newer_options newer;
    older_counters counters;
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
  const placed buffer = place_buffer(data, elements, 0);
  expect(lacuna_allreduce(communicator, &buffer, &buffer, sum, NULL, NULL) == ok, "reduces a buffer without device");
  int right = 1;
  for (int i = 0; i < elements; ++i) right = right && (int)data[i] == lacuna_size(communicator);
  expect(right, "the reduction is right");
}

/* With all steps skipped each piece stays its owner's. */
static void skips(void* communicator) {
  float data[elements];
  for (int i = 0; i < elements; ++i) data[i] = 1;
  older_sampler sampler = {1, 2, 3};
  older_options skipping = {sizeof skipping, "skip_ring", 0, random_skips, NULL};
  skipping.skip_steps = lacuna_size(communicator) - 1;
  skipping.sampler = &sampler;
  const placed options = place(&skipping, sizeof skipping), buffer = place_buffer(data, elements, 0);
  expect(lacuna_allreduce(communicator, &buffer, &buffer, sum, &options, NULL) == ok,
         "skips with options without priority, deadline, notify, token and prepare");
  int right = 1;
  for (int i = 0; i < elements; ++i) right = right && (int)data[i] == 1;
  expect(right, "all was skipped");
  expect(sampler.seed == 1 && sampler.key == 2 && sampler.draw == (lacuna_size(communicator) > 1 ? 4u : 3u),
         "the sampler, which has no size, is what it always was");
}

/* What lies where later options have more, padding included, is not looked at. */
static void skips_with_all_options(void* communicator) {
  float data[elements];
  for (int i = 0; i < elements; ++i) data[i] = 1;
  newer_options skipping;
  memset(&skipping, rubbish, sizeof skipping);
  skipping.first.struct_size = sizeof skipping;
  skipping.first.algorithm = "skip_ring";
  skipping.first.skip_steps = lacuna_size(communicator) - 1;
  skipping.first.skip_mode = 0;
  skipping.first.sampler = NULL;
  skipping.priority = 1;
  skipping.deadline = 0;
  skipping.notify = 0;
  skipping.prepare = 0;
  const placed options = place(&skipping, sizeof skipping), buffer = place_buffer(data, elements, 0);
  expect(lacuna_allreduce(communicator, &buffer, &buffer, sum, &options, NULL) == ok,
         "skips with options without skip");
  int right = 1;
  for (int i = 0; i < elements; ++i) right = right && (int)data[i] == 1;
  expect(right, "all but the owner's was skipped");
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
  expect(lacuna_allgatherv(communicator, &input, &output, &blocks, NULL, NULL) == ok,
         "gathers blocks without offsets and received");
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
  int untouched = 1;
  for (size_t i = sizeof empty; i < sizeof counters; ++i) untouched = untouched && counters.is.bytes[i] == rubbish;
  expect(untouched, "nothing is written behind the structure");
}

int main(void) {
  void* communicator = join();
  if (!communicator) return EXIT_FAILURE;
  reduces(communicator);
  skips(communicator);
  skips_with_all_options(communicator);
  gathers(communicator);
  expect(lacuna_barrier(communicator, NULL, NULL) == ok, "barrier");
  counts(communicator);
  lacuna_communicator_free(communicator);
  if (failures == 0) printf("all passed\n");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
