#include <stdlib.h>
#include <string.h>

#include "layouts.h"
#include "shim.h"

/* Makes a method of a text such as "topk:density=0.01". */
static lacuna_status make_method(const CFI_cdesc_t* text, lacuna_method** made) {
  char* name;
  lacuna_status code = lacuna_fortran_read_text(text, "method", &name);
  if (code != LACUNA_OK) return code;
  char* options = strchr(name, ':');
  if (options) *options++ = 0;
  code = lacuna_method_create(name, options, made);
  free(name);
  return code;
}

lacuna_status lacuna_fortran_read_method(const CFI_cdesc_t* given, lacuna_method** method, lacuna_method** made) {
  *method = *made = NULL;
  if (!given) return LACUNA_OK;
  if (given->type == CFI_type_char) {
    const lacuna_status code = make_method(given, made);
    *method = *made;
    return code;
  }
  lacuna_fortran_method handle = {0, NULL};
  if (given->rank == 0 && given->elem_len == sizeof handle) memcpy(&handle, given->base_addr, sizeof handle);
  if (handle.mark != LACUNA_FORTRAN_METHOD_MARK) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "method must be a text or a lacuna_method, and a scalar");
  }
  *method = handle.method;
  return *method ? LACUNA_OK
                 : lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "the method has not been made, or has been freed");
}

void lacuna_fortran_keep_method(lacuna_fortran_method* handle, lacuna_method* made) {
  lacuna_method_free(handle->method);
  handle->method = made;
}

void lacuna_fortran_create_method(lacuna_fortran_method* method, const CFI_cdesc_t* text, int32_t* status,
                                  const CFI_cdesc_t* errmsg) {
  lacuna_method* made = NULL;
  const lacuna_status code = make_method(text, &made);
  if (code == LACUNA_OK) lacuna_fortran_keep_method(method, made);
  lacuna_fortran_end(code, "lacuna_method_create", status, errmsg);
}

void lacuna_fortran_entry_length(const CFI_cdesc_t* method, int64_t* elements, int32_t* status,
                                 const CFI_cdesc_t* errmsg) {
  lacuna_method *given, *made;
  size_t length = 0;
  lacuna_status code = lacuna_fortran_read_method(method, &given, &made);
  if (code == LACUNA_OK) code = lacuna_entry_length(given, &length);
  lacuna_method_free(made);
  *elements = (int64_t)length;
  lacuna_fortran_end(code, "lacuna_entry_length", status, errmsg);
}

void lacuna_fortran_free_method(lacuna_fortran_method* method) { lacuna_fortran_keep_method(method, NULL); }
