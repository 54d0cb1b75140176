/* Buffers that hold entries, through the C interface. */
#include "tests/bindings/c/c_api_test.h"

enum { elements = 20 };

/* Rank r gives 1 at place r and 2 at place 19, in two parts; the places stand in no order. */
void buffers_of_entries(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator), rank = lacuna_rank(communicator);
  uint32_t places[] = {19, (uint32_t)rank, 19};
  float values[] = {0.5f, 1, 1.5f}, sum[elements], sums[elements];
  uint32_t found[elements];
  size_t entries = 99;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  lacuna_method* method = NULL;
  expect_status(lacuna_method_create("topk", "density=1,feedback=0", &method), LACUNA_OK, "a method");
  set_method(&options, method);

  lacuna_buffer in = buffer_of(values, 3), dense = buffer_of(sum, elements), sparse = buffer_of(sums, elements);
  in.places = places;
  in.length = elements;
  expect_status(execute_allreduce(communicator, &in, &dense, LACUNA_SUM, &options, NULL), LACUNA_OK, "entries, all");
  int right = 1;
  for (int i = 0; i < elements; ++i) right = right && sum[i] == (i == 19 ? 2.0f * (float)ranks : i < ranks ? 1 : 0);
  expect(right, "the sum of the entries");

  sparse.places = found;
  sparse.length = elements;
  sparse.entries = &entries;
  expect_status(execute_allreduce(communicator, &in, &sparse, LACUNA_SUM, &options, NULL), LACUNA_OK,
                "entries, entries");
  expect(entries == (size_t)ranks + 1, "as many entries as the sum has");
  for (size_t i = 0; i < entries && i < elements; ++i) {
    const int last = i + 1 == entries;
    expect(found[i] == (last ? 19u : (uint32_t)i) && sums[i] == (last ? 2.0f * (float)ranks : 1), "an entry");
  }

  in.length = elements + 1;
  expect_error(execute_allreduce(communicator, &in, &dense, LACUNA_SUM, &options, NULL), LACUNA_INVALID_ARGUMENT,
               "elements", "lengths that differ");
  in.length = elements;
  sparse.entries = NULL;
  expect_error(execute_allreduce(communicator, &in, &sparse, LACUNA_SUM, &options, NULL), LACUNA_INVALID_ARGUMENT,
               "their count", "no place for the count");
  expect_error(execute_allreduce(communicator, &in, &dense, LACUNA_SUM, NULL, NULL), LACUNA_INVALID_ARGUMENT, "topk",
               "entries without a method");
  set_method(&options, NULL);
}
