/* Checks that all parts of the test use. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bindings/c/c_api_test.h"

static int failures = 0;

int failed_checks(void) { return failures; }

void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "FAILED: %s (last error: %s)\n", what, lacuna_last_error());
}

void expect_status(lacuna_status got, lacuna_status wanted, const char* what) {
  if (got == wanted) return;
  fprintf(stderr, "got %s, wanted %s\n", lacuna_status_text(got), lacuna_status_text(wanted));
  expect(0, what);
}

void expect_error(lacuna_status got, lacuna_status wanted, const char* part, const char* what) {
  expect_status(got, wanted, what);
  expect(strstr(lacuna_last_error(), part) != NULL, what);
}

lacuna_buffer buffer_of(float* data, size_t count) {
  lacuna_buffer buffer = LACUNA_BUFFER_INIT;
  buffer.data = data;
  buffer.count = count;
  return buffer;
}

void set_method(lacuna_options* options, lacuna_method* method) {
  lacuna_method_free((lacuna_method*)options->method);
  options->method = method;
}

void set_skip(lacuna_options* options, const char* format, ...) {
  char text[256];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  lacuna_method* method = NULL;
  expect_status(lacuna_method_create("skip", text, &method), LACUNA_OK, text);
  set_method(options, method);
}

int find_array(const lacuna_state* state, const char* name, lacuna_state_array* array) {
  lacuna_state_values values = LACUNA_STATE_VALUES_INIT;
  expect_status(lacuna_get_state(state, &values), LACUNA_OK, "the values of a state");
  for (size_t i = 0; i < values.arrays; ++i) {
    expect_status(lacuna_get_state_array(state, i, array), LACUNA_OK, "an array of a state");
    if (strcmp(array->name, name) == 0) return 1;
  }
  return 0;
}

void add_up(lacuna_communicator* communicator, const float* given, float* sum, size_t count,
            const lacuna_options* options) {
  float* input = malloc(count * sizeof *input);
  memcpy(input, given, count * sizeof *input);
  const lacuna_buffer in = buffer_of(input, count), out = buffer_of(sum, count);
  expect_status(execute_allreduce(communicator, &in, &out, LACUNA_SUM, options, NULL), LACUNA_OK, "allreduce");
  free(input);
}

void refuses_damaged(unsigned char* bytes, size_t length, lacuna_status (*restore)(void*, const void*, size_t),
                     void* handle) {
  for (size_t i = 0; i < length; ++i) {
    bytes[i] ^= 0x10;
    expect_status(restore(handle, bytes, length), LACUNA_INVALID_ARGUMENT, "damaged bytes");
    bytes[i] ^= 0x10;
    expect_status(restore(handle, bytes, i), LACUNA_INVALID_ARGUMENT, "bytes cut short");
  }
  expect_status(restore(handle, bytes, length + 1), LACUNA_INVALID_ARGUMENT, "bytes too many");
}
