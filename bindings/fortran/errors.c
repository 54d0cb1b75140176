#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shim.h"

/* In Fortran, so that the program ends as by its own `error stop`. */
void lacuna_fortran_stop(void);

static _Thread_local char own_text[512];

lacuna_status lacuna_fortran_refuse(lacuna_status code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(own_text, sizeof own_text, format, arguments);
  va_end(arguments);
  return code;
}

static void write_text(const char* text, const CFI_cdesc_t* errmsg) {
  const size_t length = strlen(text);
  if (errmsg->type != CFI_type_char || errmsg->rank != 0) return;
  memset(errmsg->base_addr, ' ', errmsg->elem_len);
  memcpy(errmsg->base_addr, text, length < errmsg->elem_len ? length : errmsg->elem_len);
}

void lacuna_fortran_end(lacuna_status code, const char* procedure, int32_t* status, const CFI_cdesc_t* errmsg) {
  if (status) *status = code;
  if (code == LACUNA_OK) return;
  const char* text = own_text[0] ? own_text : lacuna_last_error();
  if (errmsg) write_text(text, errmsg);
  if (!status) {
    fprintf(stderr, "%s: %s\n", procedure, text);
    fflush(stderr);
    lacuna_fortran_stop();
  }
  own_text[0] = 0;
}
