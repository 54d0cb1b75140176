#include <stdlib.h>
#include <string.h>

#include "shim.h"

void lacuna_fortran_create_state(lacuna_state** state, const CFI_cdesc_t* method, const uint64_t* seed,
                                 const uint64_t* key, int32_t* status, const CFI_cdesc_t* errmsg) {
  lacuna_method *given, *made;
  lacuna_status code = lacuna_fortran_read_method(method, &given, &made);
  if (code == LACUNA_OK) {
    lacuna_state_free(*state);
    *state = NULL;
    code = lacuna_state_create(given, seed ? *seed : 0, key ? *key : 0, state);
  }
  lacuna_method_free(made);
  lacuna_fortran_end(code, "lacuna_state_create", status, errmsg);
}

void lacuna_fortran_free_state(lacuna_state** state) {
  lacuna_state_free(*state);
  *state = NULL;
}

void lacuna_fortran_get_state(lacuna_state* const* state, lacuna_state_values* values, int32_t* status,
                              const CFI_cdesc_t* errmsg) {
  values->struct_size = sizeof *values;
  lacuna_fortran_end(lacuna_get_state(*state, values), "lacuna_get_state", status, errmsg);
}

/* Finds an array of a state by its name. */
static lacuna_status find_array(const lacuna_state* state, const char* name, lacuna_state_array* array) {
  lacuna_state_values values = LACUNA_STATE_VALUES_INIT;
  lacuna_status code = lacuna_get_state(state, &values);
  for (size_t i = 0; i < values.arrays && code == LACUNA_OK; ++i) {
    code = lacuna_get_state_array(state, i, array);
    if (code == LACUNA_OK && strcmp(array->name, name) == 0) return LACUNA_OK;
  }
  if (code != LACUNA_OK) return code;
  array->count = 0;
  return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "the state has no array '%s' yet", name);
}

/* Copies what is kept to elements of the same type, as many as there are. */
static lacuna_status copy_array(const lacuna_state_array* kept, const CFI_cdesc_t* values, const int32_t* dtype) {
  lacuna_fortran_section section;
  lacuna_status code = lacuna_fortran_read_section(values, "values", dtype, &section);
  if (code != LACUNA_OK) return code;
  if (section.dtype != kept->dtype || section.count != kept->count) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT,
                                 "values has %zu elements of dtype %d, the array of the state has %zu of dtype %d",
                                 section.count, (int)section.dtype, kept->count, (int)kept->dtype);
  }
  code = lacuna_fortran_make_room(&section);
  if (code != LACUNA_OK || kept->count == 0) return code;
  memcpy(lacuna_fortran_buffer(&section).data, kept->data, kept->count * section.element);
  lacuna_fortran_unpack(&section);
  free(section.packed);
  return LACUNA_OK;
}

void lacuna_fortran_get_state_array(lacuna_state* const* state, const CFI_cdesc_t* name, const CFI_cdesc_t* values,
                                    int64_t* count, const int32_t* dtype, int32_t* status, const CFI_cdesc_t* errmsg) {
  lacuna_state_array array = LACUNA_STATE_ARRAY_INIT;
  char* text;
  lacuna_status code = lacuna_fortran_read_text(name, "name", &text);
  if (code == LACUNA_OK) code = find_array(*state, text, &array);
  free(text);
  if (count) *count = (int64_t)array.count;
  if (code == LACUNA_OK && values) code = copy_array(&array, values, dtype);
  lacuna_fortran_end(code, "lacuna_get_state_array", status, errmsg);
}

/* Copies the bytes into an allocatable array of int8. */
static lacuna_status save(const lacuna_state* state, CFI_cdesc_t* bytes) {
  size_t length = 0;
  lacuna_status code = lacuna_state_save(state, NULL, 0, &length);
  if (length == 0) return code;
  const CFI_index_t lower = 1, upper = (CFI_index_t)length;
  if (bytes->base_addr) CFI_deallocate(bytes);
  if (CFI_allocate(bytes, &lower, &upper, 1) != CFI_SUCCESS) {
    return lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
  }
  return lacuna_state_save(state, bytes->base_addr, length, &length);
}

void lacuna_fortran_save_state(lacuna_state* const* state, CFI_cdesc_t* bytes, int32_t* status,
                               const CFI_cdesc_t* errmsg) {
  lacuna_fortran_end(save(*state, bytes), "lacuna_state_save", status, errmsg);
}

void lacuna_fortran_restore_state(lacuna_state* const* state, const CFI_cdesc_t* bytes, int32_t* status,
                                  const CFI_cdesc_t* errmsg) {
  lacuna_fortran_section section;
  lacuna_status code = lacuna_fortran_read_section(bytes, "bytes", NULL, &section);
  if (code == LACUNA_OK) code = lacuna_fortran_make_room(&section);
  if (code == LACUNA_OK) {
    lacuna_fortran_pack(&section);
    code = lacuna_state_restore(*state, lacuna_fortran_buffer(&section).data, section.count);
    free(section.packed);
  }
  lacuna_fortran_end(code, "lacuna_state_restore", status, errmsg);
}
