#include <stdlib.h>

#include "shim.h"

/* Reads what the environment or the launcher does not tell. */
static lacuna_status read_world(const int32_t* rank, const int32_t* size, const CFI_cdesc_t* store,
                                const CFI_cdesc_t* key, const int32_t* progress, const double* timeout,
                                lacuna_world_options* options, char** store_text, char** key_text) {
  if (rank) options->rank = *rank;
  if (size) options->world_size = *size;
  if (progress) options->progress = *progress;
  if (timeout) options->timeout = *timeout > 0 ? *timeout : -1; /* 0 would leave it to the environment */
  lacuna_status code = lacuna_fortran_read_text(store, "store", store_text);
  if (code == LACUNA_OK) code = lacuna_fortran_read_text(key, "key", key_text);
  options->store = *store_text;
  options->key = *key_text;
  return code;
}

void lacuna_fortran_join(lacuna_communicator** communicator, const int32_t* rank, const int32_t* size,
                         const CFI_cdesc_t* store, const CFI_cdesc_t* key, const lacuna_unique_id* id,
                         const int32_t* progress, const double* timeout, int32_t* status, const CFI_cdesc_t* errmsg) {
  lacuna_world_options options = LACUNA_WORLD_OPTIONS_INIT;
  char *store_text = NULL, *key_text = NULL;
  lacuna_status code = read_world(rank, size, store, key, progress, timeout, &options, &store_text, &key_text);
  options.id = id;
  if (code == LACUNA_OK) code = lacuna_join(&options, communicator);
  free(store_text);
  free(key_text);
  lacuna_fortran_end(code, "lacuna_join", status, errmsg);
}

void lacuna_fortran_make_unique_id(lacuna_unique_id* id, const CFI_cdesc_t* address, int32_t* status,
                                   const CFI_cdesc_t* errmsg) {
  char* text;
  lacuna_status code = lacuna_fortran_read_text(address, "address", &text);
  if (code == LACUNA_OK) code = lacuna_make_unique_id(text, id);
  free(text);
  lacuna_fortran_end(code, "lacuna_make_unique_id", status, errmsg);
}

void lacuna_fortran_free_communicator(lacuna_communicator** communicator) {
  lacuna_communicator_free(*communicator);
  *communicator = NULL;
}

int32_t lacuna_fortran_rank(lacuna_communicator* const* communicator) { return lacuna_rank(*communicator); }

int32_t lacuna_fortran_size(lacuna_communicator* const* communicator) { return lacuna_size(*communicator); }

int32_t lacuna_fortran_local_rank(lacuna_communicator* const* communicator) { return lacuna_local_rank(*communicator); }

int32_t lacuna_fortran_local_size(lacuna_communicator* const* communicator) { return lacuna_local_size(*communicator); }

int32_t lacuna_fortran_communicator_status(lacuna_communicator* const* communicator) {
  return lacuna_communicator_status(*communicator);
}

void lacuna_fortran_split(lacuna_communicator* const* communicator, int32_t colour, lacuna_communicator** part,
                          const int32_t* key, int32_t* status, const CFI_cdesc_t* errmsg) {
  lacuna_fortran_end(lacuna_split(*communicator, colour, key ? *key : 0, part), "lacuna_split", status, errmsg);
}

void lacuna_fortran_subgroup(lacuna_communicator* const* communicator, const CFI_cdesc_t* ranks,
                             lacuna_communicator** part, int32_t* status, const CFI_cdesc_t* errmsg) {
  const size_t count = (size_t)ranks->dim[0].extent;
  int32_t* list = malloc((count + 1) * sizeof *list);
  lacuna_status code = LACUNA_OK;
  if (!list) code = lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
  for (size_t i = 0; i < count && list; ++i) {
    list[i] = *(const int32_t*)((const char*)ranks->base_addr + (CFI_index_t)i * ranks->dim[0].sm);
  }
  if (code == LACUNA_OK) code = lacuna_subgroup(*communicator, list, count, part);
  free(list);
  lacuna_fortran_end(code, "lacuna_subgroup", status, errmsg);
}

void lacuna_fortran_get_counters(lacuna_communicator* const* communicator, lacuna_counters* counters, int32_t* status,
                                 const CFI_cdesc_t* errmsg) {
  counters->struct_size = sizeof *counters;
  lacuna_fortran_end(lacuna_get_counters(*communicator, counters), "lacuna_get_counters", status, errmsg);
}

/* Returns all counters as a text for free(); empty without a communicator. */
char* lacuna_fortran_counters_text(lacuna_communicator* const* communicator, int32_t format) {
  size_t length = 0;
  lacuna_counters_text(*communicator, format, NULL, 0, &length);
  char* text = calloc(length + 1024, 1); /* counters may become longer meanwhile */
  if (text) lacuna_counters_text(*communicator, format, text, length + 1024, &length);
  return text;
}
