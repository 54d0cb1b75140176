#pragma once

#include "bindings/c/lacuna.h"

/* Counts and reports what does not hold. */
void expect(int holds, const char* what);
void expect_status(lacuna_status got, lacuna_status wanted, const char* what);
/* A failure of this kind, whose text has this part. */
void expect_error(lacuna_status got, lacuna_status wanted, const char* part, const char* what);

lacuna_buffer buffer_of(float* data, size_t count);

/* Parts of the test that stand in files of their own. */
void blocks_of_different_lengths(lacuna_communicator* communicator);
void prepared_requests(lacuna_communicator* communicator);
void skipping_options(lacuna_communicator* communicator);
void skipping_keeps(lacuna_communicator* communicator);

/* What the interface refuses. */
void join_refuses(void);
void null_arguments(lacuna_communicator* communicator);
void bad_arguments(lacuna_communicator* communicator);
