#ifndef LACUNA_FORTRAN_SHIM_H
#define LACUNA_FORTRAN_SHIM_H

#include <ISO_Fortran_binding.h>
#include <lacuna/lacuna.h>
#include <stdbool.h>

/*
 * What the C files of the Fortran module share. The Fortran compiler that uses the module calls these files, so they
 * are compiled with its ISO_Fortran_binding.h. An optional argument of Fortran that is absent is a null pointer here.
 * Texts come as arrays of any type, because gfortran 12 fails to compile a program that passes its own optional text on
 * to an optional text of an interface with bind(C).
 */

/** Where elements lie that a call reads or writes, as Fortran's descriptor says. */
typedef struct lacuna_fortran_section {
  char* base;
  char* packed; /* a copy without gaps; null: base has no gaps */
  size_t count;
  size_t element; /* bytes */
  int32_t dtype;
  int32_t rank;
  ptrdiff_t extents[CFI_MAX_RANK];
  ptrdiff_t strides[CFI_MAX_RANK]; /* bytes */
} lacuna_fortran_section;

/** A request of Fortran: that of C, and what must live as long. */
typedef struct lacuna_fortran_request {
  lacuna_request* request;
  bool moves; /* the sections have been packed, and are not unpacked yet */
  size_t inputs, sections;
  lacuna_fortran_section* section; /* the first `inputs` are read, the others are written */
  size_t* tables;
} lacuna_fortran_request;

/** How a call is carried out: the arguments that all collectives have, or those of them that a message has. */
typedef struct lacuna_fortran_how {
  const char* procedure;
  const CFI_cdesc_t *method, *algorithm;
  lacuna_state* const* state;
  lacuna_sampler* sampler;
  const int32_t* priority;
  const double* deadline;
  const int32_t* dtype;
  const uint64_t* token;
  lacuna_report* report;
  lacuna_fortran_request **request, **prepared;
  int32_t* status;
  const CFI_cdesc_t* errmsg;
} lacuna_fortran_how;

/** The lengths and places of the blocks of a buffer, as Fortran's arrays have them. */
typedef struct lacuna_fortran_tables {
  const CFI_cdesc_t *counts, *offsets;
  size_t* received;
} lacuna_fortran_tables;

/** Where the entries of lists lie; see lacuna_entries. */
typedef struct lacuna_fortran_lists {
  const CFI_cdesc_t *places, *output_places;
  const int64_t* length;
  size_t* found;
} lacuna_fortran_lists;

/** The program's handle of a method, as lacuna_types has it. */
typedef struct lacuna_fortran_method {
  int64_t mark; /* tells a handle from other things; LACUNA_FORTRAN_METHOD_MARK */
  lacuna_method* method;
} lacuna_fortran_method;

/** A collective with the arguments of its own. */
typedef struct lacuna_fortran_collective {
  int32_t collective;
  const CFI_cdesc_t *input, *output;
  lacuna_fortran_tables input_tables, output_tables;
  lacuna_fortran_lists lists;
  const int32_t *op, *root;
  const lacuna_own_function* own;
  const uint64_t* own_id;
} lacuna_fortran_collective;

/* errors.c */
/** Keeps the text of an error that the shim itself has found. */
lacuna_status lacuna_fortran_refuse(lacuna_status code, const char* format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/** Tells the outcome by `status` and `errmsg`. Without `status`, an error ends the program. */
void lacuna_fortran_end(lacuna_status code, const char* procedure, int32_t* status, const CFI_cdesc_t* errmsg);

/* texts.c */
/** Makes a text of C, for free(), or null of an absent one. Blanks at its end are dropped. */
lacuna_status lacuna_fortran_read_text(const CFI_cdesc_t* text, const char* name, char** value);

/* methods.c */
/**
 * Reads the method of a call: a text such as "topk:density=0.01", a handle, or nothing.
 * @param method becomes the method, or null
 * @param made   becomes null or, of a text, the method, for lacuna_method_free()
 */
lacuna_status lacuna_fortran_read_method(const CFI_cdesc_t* given, lacuna_method** method, lacuna_method** made);
/** Puts a method into the program's handle, whose former one ends. */
void lacuna_fortran_keep_method(lacuna_fortran_method* handle, lacuna_method* made);

/* sections.c */
/** Reads a descriptor of elements. `dtype` says what they are; null: their type does. */
lacuna_status lacuna_fortran_read_section(const CFI_cdesc_t* array, const char* name, const int32_t* dtype,
                                          lacuna_fortran_section* section);
/** Gets memory for a section with gaps. */
lacuna_status lacuna_fortran_make_room(lacuna_fortran_section* section);
void lacuna_fortran_pack(const lacuna_fortran_section* section);
void lacuna_fortran_unpack(const lacuna_fortran_section* section);
/** Describes the elements, or their copy, to the C interface. */
lacuna_buffer lacuna_fortran_buffer(const lacuna_fortran_section* section);
/** Copies an array of integers, which must have one for each of `count` owners, such as ranks. */
lacuna_status lacuna_fortran_read_sizes(const CFI_cdesc_t* array, const char* name, size_t count, const char* owners,
                                        size_t* values);

/* requests.c */
/** Makes a request with so many sections, or returns null. */
lacuna_fortran_request* lacuna_fortran_make_request(size_t inputs, size_t outputs);
/** Gets memory for the sections with gaps, and says whether there are any. */
lacuna_status lacuna_fortran_make_rooms(lacuna_fortran_request* request, bool* gaps);
/** Copies the sections with gaps, before a call starts. */
void lacuna_fortran_depart(lacuna_fortran_request* request);
/** Copies what has come back to the sections with gaps, if the call has ended well. */
void lacuna_fortran_arrive(lacuna_fortran_request* request);
/** Waits for an unfinished call, and ends the request. Null is allowed. */
void lacuna_fortran_discard(lacuna_fortran_request* request);
/** What starts a call: it puts its request there, or waits for its end if that is null. */
typedef lacuna_status (*lacuna_fortran_starter)(void* context, const lacuna_options* options, lacuna_request** request);
/**
 * Starts a call whose sections the request has, as `how` asks for it. `made` becomes the program's request, or is
 * ended here. `options` has what is not of a request.
 */
lacuna_status lacuna_fortran_carry_out(lacuna_fortran_request* made, const lacuna_fortran_how* how,
                                       lacuna_options* options, lacuna_fortran_starter start, void* context);
/** Reads what messages and collectives have in common. */
void lacuna_fortran_read_options(const lacuna_fortran_how* how, lacuna_options* options);

/* perform.c */
/** Carries out a collective. */
void lacuna_fortran_perform(lacuna_communicator* const* communicator, const lacuna_fortran_collective* call,
                            const lacuna_fortran_how* how);

/** The arguments that end each collective, in this order. write_module.cmake declares them in Fortran. */
#define LACUNA_FORTRAN_HOW                                                                                         \
  const CFI_cdesc_t *method, const CFI_cdesc_t *algorithm, lacuna_state *const *state, lacuna_sampler *sampler,    \
      const int32_t *priority, const double *deadline, const int32_t *dtype, const uint64_t *token,                \
      lacuna_report *report, lacuna_fortran_request **request, lacuna_fortran_request **prepared, int32_t *status, \
      const CFI_cdesc_t *errmsg
#define LACUNA_FORTRAN_HOW_OF(procedure)                                                                               \
  {                                                                                                                    \
    procedure, method, algorithm, state, sampler, priority, deadline, dtype, token, report, request, prepared, status, \
        errmsg                                                                                                         \
  }

#endif
