#pragma once

#include "bindings/c/lacuna.h"
#include "tests/bindings/c/c_calls.h"

/* Counts and reports a check that does not hold. */
void expect(int holds, const char* what);
/* Returns how many checks have failed so far. */
int failed_checks(void);
void expect_status(lacuna_status got, lacuna_status wanted, const char* what);
/* Expects a failure of this kind, whose text has this part. */
void expect_error(lacuna_status got, lacuna_status wanted, const char* part, const char* what);

lacuna_buffer buffer_of(float* data, size_t count);

/* Replaces the method by "skip" with these options, which are written as printf() writes them. */
void set_skip(lacuna_options* options, const char* format, ...);
/* Replaces the method by another one, or by null. */
void set_method(lacuna_options* options, lacuna_method* method);
/* Fills `array` if the state has an array of this name. Returns 1 then, else 0. */
int find_array(const lacuna_state* state, const char* name, lacuna_state_array* array);

/* Sets `sum` to what all ranks have given. */
void add_up(lacuna_communicator* communicator, const float* given, float* sum, size_t count,
            const lacuna_options* options);
/* Flips each of the saved bytes, cuts the end off, and adds a byte. `restore` must refuse all of that. */
void refuses_damaged(unsigned char* bytes, size_t length, lacuna_status (*restore)(void*, const void*, size_t),
                     void* handle);

/* Parts of the test that have files of their own. */
void blocks_of_different_lengths(lacuna_communicator* communicator);
void prepared_requests(lacuna_communicator* communicator);
void buffers_of_entries(lacuna_communicator* communicator);
void elements_of_all_types(lacuna_communicator* communicator);
void skipping_options(lacuna_communicator* communicator);
void skipping_keeps(lacuna_communicator* communicator);
void skipping_segments(lacuna_communicator* communicator);

/* What the interface refuses. */
void join_refuses(void);
void methods_refused(void);
void null_arguments(lacuna_communicator* communicator);
void bad_arguments(lacuna_communicator* communicator);
