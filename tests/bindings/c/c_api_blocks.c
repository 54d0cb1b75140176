/* The collectives over blocks of different lengths. Rank r has r elements of value r + 1. */
#include <stdlib.h>

#include "tests/bindings/c/c_api_test.h"

static int holds_value(const float* data, size_t count, float value) {
  for (size_t i = 0; i < count; ++i) {
    if (data[i] < value || data[i] > value) return 0;
  }
  return 1;
}

static void everybodys(const float* all, size_t ranks, const char* what) {
  for (size_t rank = 0, next = 0; rank < ranks; next += rank, ++rank) {
    expect(holds_value(all + next, rank, (float)rank + 1), what);
  }
}

static void exchange(lacuna_communicator* communicator, const lacuna_blocks* to, float* sent, size_t count) {
  const size_t ranks = (size_t)lacuna_size(communicator);
  float* all = calloc(ranks * ranks, sizeof *all);
  size_t* most = malloc(ranks * sizeof *most);
  size_t* received = malloc(ranks * sizeof *received);
  for (size_t rank = 0; rank < ranks; ++rank) most[rank] = ranks;
  lacuna_blocks from = LACUNA_BLOCKS_INIT;
  from.counts = most;
  from.received = received;
  const lacuna_buffer input = buffer_of(sent, count), output = buffer_of(all, ranks * ranks);
  expect_status(execute_alltoallv(communicator, &input, to, &output, &from, NULL, NULL), LACUNA_OK, "alltoallv");
  const size_t me = (size_t)lacuna_rank(communicator);
  for (size_t rank = 0; rank < ranks; ++rank) {
    expect(received[rank] == me, "alltoallv says how much has come");
    expect(holds_value(all + rank * ranks, me, (float)rank + 1), "alltoallv's result");
    expect(holds_value(all + rank * ranks + me, ranks - me, 0), "alltoallv writes no more than comes");
  }
  free(all);
  free(most);
  free(received);
}

void blocks_of_different_lengths(lacuna_communicator* communicator) {
  const size_t ranks = (size_t)lacuna_size(communicator), me = (size_t)lacuna_rank(communicator);
  const size_t total = ranks * (ranks - 1) / 2;
  const int32_t root = (int32_t)ranks - 1;
  float* one = malloc((me + 1) * sizeof *one);
  float* all = calloc(total + 1, sizeof *all);
  size_t* counts = malloc(ranks * sizeof *counts);
  for (size_t rank = 0; rank < ranks; ++rank) counts[rank] = rank;
  for (size_t i = 0; i < me; ++i) one[i] = (float)me + 1;
  lacuna_blocks blocks = LACUNA_BLOCKS_INIT;
  blocks.counts = counts;
  const lacuna_buffer block = buffer_of(one, me), buffer = buffer_of(all, total);

  expect_status(execute_allgatherv(communicator, &block, &buffer, &blocks, NULL, NULL), LACUNA_OK, "allgatherv");
  everybodys(all, ranks, "allgatherv's result");
  expect_status(execute_reduce_scatterv(communicator, &buffer, &blocks, &block, LACUNA_SUM, NULL, NULL), LACUNA_OK,
                "reduce_scatterv");
  expect(holds_value(one, me, (float)(ranks * (me + 1))), "reduce_scatterv's result");
  for (size_t i = 0; i < me; ++i) one[i] = (float)me + 1;
  for (size_t i = 0; i < total; ++i) all[i] = 0;
  const int is_root = lacuna_rank(communicator) == root;
  expect_status(
      execute_gatherv(communicator, &block, is_root ? &buffer : NULL, is_root ? &blocks : NULL, root, NULL, NULL),
      LACUNA_OK, "gatherv");
  if (is_root) everybodys(all, ranks, "gatherv's result");
  for (size_t i = 0; i < me; ++i) one[i] = 0;
  expect_status(
      execute_scatterv(communicator, is_root ? &buffer : NULL, is_root ? &blocks : NULL, &block, root, NULL, NULL),
      LACUNA_OK, "scatterv");
  expect(holds_value(one, me, (float)me + 1), "scatterv's result");
  for (size_t i = 0; i < total; ++i) all[i] = (float)me + 1;
  exchange(communicator, &blocks, all, total);

  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  expect_error(execute_allgatherv(communicator, &block, &buffer, NULL, NULL, NULL), bad, "blocks is null", "no blocks");
  blocks.counts = NULL;
  expect_error(execute_allgatherv(communicator, &block, &buffer, &blocks, NULL, NULL), bad, "counts is null",
               "no counts");
  blocks.struct_size = sizeof blocks + 1;
  expect_error(execute_allgatherv(communicator, &block, &buffer, &blocks, NULL, NULL), bad, "struct_size",
               "blocks from the future");
  free(one);
  free(all);
  free(counts);
}
