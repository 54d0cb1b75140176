/* Elements of all types, from C. */
#include <math.h>
#include <string.h>

#include "tests/bindings/c/c_api_test.h"

enum { elements = 1001 };

/* Integers of 16 bits wrap around, and their largest values are told apart from negative ones. */
static void short_integers(lacuna_communicator* communicator) {
  static uint16_t mine[elements], sum[elements];
  const uint16_t ranks = (uint16_t)lacuna_size(communicator), me = (uint16_t)lacuna_rank(communicator);
  for (size_t i = 0; i < elements; ++i) mine[i] = (uint16_t)(40000 + i + me);
  expect_status(lacuna_allreduce(communicator, mine, sum, elements, LACUNA_U16, LACUNA_SUM), LACUNA_OK, "sum of u16");
  size_t wrong = 0;
  for (size_t i = 0; i < elements; ++i) {
    const unsigned all = ranks * (unsigned)(40000 + i) + ranks * (ranks - 1u) / 2;
    wrong += sum[i] != (uint16_t)all;
  }
  expect(wrong == 0, "a sum of u16 wraps around");
  expect_status(lacuna_allreduce(communicator, mine, sum, elements, LACUNA_U16, LACUNA_MAX), LACUNA_OK, "max of u16");
  expect(sum[7] == 40007 + ranks - 1, "the largest u16");
  expect_status(lacuna_allreduce(communicator, mine, sum, elements, LACUNA_I16, LACUNA_MAX), LACUNA_OK, "max of i16");
  expect((int16_t)sum[7] == (int16_t)(40007 + ranks - 1), "the largest i16");
}

static void complex_numbers(lacuna_communicator* communicator) {
  double mine[2] = {lacuna_rank(communicator), 1}, sum[2];
  const int32_t ranks = lacuna_size(communicator);
  expect_status(lacuna_allreduce(communicator, mine, sum, 1, LACUNA_C128, LACUNA_SUM), LACUNA_OK, "sum of c128");
  expect(sum[0] == ranks * (ranks - 1) / 2 && sum[1] == ranks, "a sum of complex numbers");
  expect_error(lacuna_allreduce(communicator, mine, sum, 1, LACUNA_C64, LACUNA_MAX), LACUNA_INVALID_ARGUMENT,
               "max of c64 is not defined; c64 takes sum or prod", "max of complex numbers");
}

static void located_numbers(lacuna_communicator* communicator) {
  const int32_t me = lacuna_rank(communicator), ranks = lacuna_size(communicator);
  lacuna_located_f32 mine = {0, 0}, found;
  mine.value = (float)-me;
  mine.index = 100 + me;
  expect_status(lacuna_allreduce(communicator, &mine, &found, 1, LACUNA_LOCATED_F32, LACUNA_MIN), LACUNA_OK, "minloc");
  expect(found.value == (float)(1 - ranks) && found.index == 99 + ranks, "the least number and its index");
  mine.value = 2;
  expect_status(lacuna_allreduce(communicator, &mine, &found, 1, LACUNA_LOCATED_F32, LACUNA_MAX), LACUNA_OK, "maxloc");
  expect(found.value == 2 && found.index == 100, "of equal numbers the lowest index");
}

static void numbers_of_16_bits(lacuna_communicator* communicator) {
  lacuna_bf16 rough = lacuna_to_bf16(1.5f);
  lacuna_f16 fine = lacuna_to_f16(0.25f);
  const float ranks = (float)lacuna_size(communicator);
  expect(lacuna_from_bf16(lacuna_to_bf16(257)) == 256 && isinf(lacuna_from_f16(lacuna_to_f16(1e6f))), "roundings");
  expect_status(lacuna_allreduce(communicator, &rough, &rough, 1, LACUNA_BF16, LACUNA_SUM), LACUNA_OK, "sum of bf16");
  expect_status(lacuna_allreduce(communicator, &fine, &fine, 1, LACUNA_F16, LACUNA_SUM), LACUNA_OK, "sum of f16");
  expect(lacuna_from_bf16(rough) == 1.5f * ranks && lacuna_from_f16(fine) == 0.25f * ranks, "sums of 16 bits");
}

typedef struct range {
  int32_t least;
  int32_t largest;
} range;

/* Makes one range of two, and counts the calls in its context. */
static void unite(void* context, const void* in, void* inout, size_t count) {
  const range* from = in;
  range* to = inout;
  for (size_t i = 0; i < count; ++i) {
    if (from[i].least < to[i].least) to[i].least = from[i].least;
    if (from[i].largest > to[i].largest) to[i].largest = from[i].largest;
  }
  *(int32_t*)context += 1;
}

static void reductions_of_the_program(lacuna_communicator* communicator) {
  static range mine[elements], all[elements];
  const int32_t me = lacuna_rank(communicator), ranks = lacuna_size(communicator);
  for (int32_t i = 0; i < elements; ++i) mine[i].least = mine[i].largest = i - 1000 * me;
  int32_t calls = 0;
  lacuna_buffer input = LACUNA_BUFFER_INIT, output = LACUNA_BUFFER_INIT;
  input.data = mine;
  output.data = all;
  input.count = output.count = elements;
  input.dtype = output.dtype = LACUNA_BYTES_8;
  input.memory = output.memory = LACUNA_MEMORY_HOST;
  lacuna_own_reduction own = LACUNA_OWN_REDUCTION_INIT;
  lacuna_call call = LACUNA_CALL_INIT;
  call.collective = LACUNA_ALLREDUCE;
  call.reduction = LACUNA_OWN;
  call.input = &input;
  call.output = &output;
  expect_error(lacuna_execute(communicator, &call, NULL, NULL), LACUNA_INVALID_ARGUMENT, "own is null", "no reduction");
  call.own = &own;
  expect_error(lacuna_execute(communicator, &call, NULL, NULL), LACUNA_INVALID_ARGUMENT, "its function is null",
               "no function");
  own.function = unite;
  own.context = &calls;
  own.id = 3;
  expect_status(lacuna_execute(communicator, &call, NULL, NULL), LACUNA_OK, "a reduction of the program");
  int32_t all_calls = 0; /* some ranks may have nothing to reduce */
  expect_status(lacuna_allreduce(communicator, &calls, &all_calls, 1, LACUNA_I32, LACUNA_SUM), LACUNA_OK, "calls");
  expect(all_calls > 0 || ranks == 1, "the context comes along");
  size_t wrong = 0;
  for (int32_t i = 0; i < elements; ++i) wrong += all[i].largest != i || all[i].least != i - 1000 * (ranks - 1);
  expect(wrong == 0, "united ranges");
  expect_error(lacuna_allreduce(communicator, mine, all, 1, LACUNA_BYTES_8, LACUNA_OWN), LACUNA_INVALID_ARGUMENT,
               "reduction is LACUNA_OWN, which needs a function: lacuna_execute() takes one",
               "a function without room for a reduction of the program");
}

void elements_of_all_types(lacuna_communicator* communicator) {
  short_integers(communicator);
  complex_numbers(communicator);
  located_numbers(communicator);
  numbers_of_16_bits(communicator);
  reductions_of_the_program(communicator);
}
