#include <stdlib.h>
#include <string.h>

#include "shim.h"

lacuna_status lacuna_fortran_read_text(const CFI_cdesc_t* text, const char* name, char** value) {
  *value = NULL;
  if (!text) return LACUNA_OK;
  if (text->type != CFI_type_char || text->rank != 0) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "%s is not a text; it must be a character scalar", name);
  }
  size_t length = text->elem_len;
  const char* from = text->base_addr;
  while (length > 0 && from[length - 1] == ' ') --length;
  *value = malloc(length + 1);
  if (!*value) return lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
  if (length > 0) memcpy(*value, from, length);
  (*value)[length] = 0;
  return LACUNA_OK;
}
