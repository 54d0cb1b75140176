/* Buffers that hold entries, through the C interface. */
#include "tests/bindings/c/c_api_test.h"

enum { elements = 20 };

/* Rank r gives 1 at place r and 2 at place 19, the latter in two terms. The places are in no order. */
void buffers_of_entries(lacuna_communicator* communicator) {
  const int32_t ranks = lacuna_size(communicator), rank = lacuna_rank(communicator);
  uint32_t places[] = {19, (uint32_t)rank, 19};
  float values[] = {0.5f, 1, 1.5f}, sum[elements], sums[elements];
  uint32_t found[elements];
  size_t entries = 99;
  lacuna_options options = LACUNA_OPTIONS_INIT;
  lacuna_method* method = NULL;
  expect_status(lacuna_method_create("topk", "density=1,feedback=0", &method), LACUNA_OK, "a method");
  size_t length = 9;
  expect_status(lacuna_entry_length(method, &length), LACUNA_OK, "the length of an entry");
  expect(length == 1, "an entry of topk is one element");
  expect_error(lacuna_entry_length(NULL, &length), LACUNA_INVALID_ARGUMENT, "method is null", "of no method");
  expect_error(lacuna_entry_length(method, NULL), LACUNA_INVALID_ARGUMENT, "elements is null", "without a place");
  set_method(&options, method);

  lacuna_buffer in = buffer_of(values, 3), dense = buffer_of(sum, elements), sparse = buffer_of(sums, elements);
  lacuna_entries given = LACUNA_ENTRIES_INIT, asked = LACUNA_ENTRIES_INIT;
  given.places = places;
  given.length = elements;
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_ALLREDUCE;
  call.input = &in;
  call.output = &dense;
  call.input_entries = &given;
  expect_status(lacuna_execute(communicator, &call, &options, NULL), LACUNA_OK, "entries, all");
  int right = 1;
  for (int i = 0; i < elements; ++i) right = right && sum[i] == (i == 19 ? 2.0f * (float)ranks : i < ranks ? 1 : 0);
  expect(right, "the sum of the entries");

  asked.places = found;
  asked.length = elements;
  asked.found = &entries;
  call.output = &sparse;
  call.output_entries = &asked;
  expect_status(lacuna_execute(communicator, &call, &options, NULL), LACUNA_OK, "entries, entries");
  expect(entries == (size_t)ranks + 1, "as many entries as the sum has");
  for (size_t i = 0; i < entries && i < elements; ++i) {
    const int last = i + 1 == entries;
    expect(found[i] == (last ? 19u : (uint32_t)i) && sums[i] == (last ? 2.0f * (float)ranks : 1), "an entry");
  }

  /* A list without entries needs no places. */
  in = buffer_of(NULL, 0);
  given.places = NULL;
  expect_status(lacuna_execute(communicator, &call, &options, NULL), LACUNA_OK, "no entries");
  expect(entries == 0, "no entries of a sum of none");
  in = buffer_of(values, 3);

  const lacuna_status bad = LACUNA_INVALID_ARGUMENT;
  expect_error(lacuna_execute(communicator, &call, &options, NULL), bad, "places is null", "values without places");
  given.places = places;
  asked.found = NULL;
  expect_error(lacuna_execute(communicator, &call, &options, NULL), bad, "where their number goes",
               "no place for the count");
  given.length = elements + 1;
  call.output = &dense;
  call.output_entries = NULL;
  expect_error(lacuna_execute(communicator, &call, &options, NULL), bad, "elements", "lengths that differ");
  given.length = elements;
  expect_error(lacuna_execute(communicator, &call, NULL, NULL), bad, "topk", "entries without a method");
  given.struct_size = sizeof given + 1;
  expect_error(lacuna_execute(communicator, &call, &options, NULL), bad, "struct_size", "entries from the future");
  given.struct_size = sizeof given;
  call.collective = LACUNA_SCAN;
  expect_error(lacuna_execute(communicator, &call, &options, NULL), bad, "", "entries of a scan");
  set_method(&options, NULL);
}
