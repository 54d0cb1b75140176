#include <lacuna/lacuna_skip.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

/* Makes the method with an array of segments that lie anywhere. */
static lacuna_status create(const CFI_cdesc_t* options, const CFI_cdesc_t* segments, lacuna_method** made) {
  const size_t count = segments ? (size_t)segments->dim[0].extent : 0;
  lacuna_skip_segment* list = malloc((count + 1) * sizeof *list);
  char* text = NULL;
  if (!list) return lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
  for (size_t i = 0; i < count; ++i) {
    memcpy(&list[i], (const char*)segments->base_addr + (CFI_index_t)i * segments->dim[0].sm, sizeof *list);
  }
  lacuna_status code = lacuna_fortran_read_text(options, "options", &text);
  if (code == LACUNA_OK) code = lacuna_skip_create(text, list, count, made);
  free(text);
  free(list);
  return code;
}

void lacuna_fortran_skip_create(lacuna_fortran_method* method, const CFI_cdesc_t* options, const CFI_cdesc_t* segments,
                                int32_t* status, const CFI_cdesc_t* errmsg) {
  lacuna_method* made = NULL;
  const lacuna_status code = create(options, segments, &made);
  if (code == LACUNA_OK) lacuna_fortran_keep_method(method, made);
  lacuna_fortran_end(code, "lacuna_skip_create", status, errmsg);
}

/* Copies what is known into an allocatable array. */
static lacuna_status list(const lacuna_state* state, CFI_cdesc_t* importance) {
  size_t count = 0;
  const CFI_index_t lower = 1;
  lacuna_status code = lacuna_skip_get_importance(state, 0, NULL, &count);
  const CFI_index_t upper = (CFI_index_t)count;
  if (code != LACUNA_OK) return code;
  if (importance->base_addr) CFI_deallocate(importance);
  if (CFI_allocate(importance, &lower, &upper, sizeof(lacuna_segment_importance)) != CFI_SUCCESS) {
    return lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
  }
  lacuna_segment_importance* all = importance->base_addr;
  for (size_t i = 0; i < count && code == LACUNA_OK; ++i) {
    all[i].struct_size = sizeof *all;
    code = lacuna_skip_get_importance(state, i, &all[i], NULL);
    ++all[i].segment;
  }
  return code;
}

void lacuna_fortran_skip_get_importance(lacuna_state* const* state, CFI_cdesc_t* importance, int32_t* status,
                                        const CFI_cdesc_t* errmsg) {
  lacuna_fortran_end(list(*state, importance), "lacuna_skip_get_importance", status, errmsg);
}
