#include "shim.h"

/* Makes the pointer point to an array of this shape, whose indices begin at 1. */
static void point(CFI_cdesc_t* pointer, void* memory, const size_t* sizes) {
  CFI_CDESC_T(CFI_MAX_RANK) target;
  CFI_index_t extents[CFI_MAX_RANK], lower_bounds[CFI_MAX_RANK];
  for (int i = 0; i < pointer->rank; ++i) {
    extents[i] = (CFI_index_t)sizes[i];
    lower_bounds[i] = 1;
  }
  CFI_establish((CFI_cdesc_t*)&target, memory, CFI_attribute_other, pointer->type, pointer->elem_len, pointer->rank,
                extents);
  CFI_setpointer(pointer, (CFI_cdesc_t*)&target, lower_bounds);
}

void lacuna_fortran_alloc(CFI_cdesc_t* array, const CFI_cdesc_t* extents, int32_t* status, const CFI_cdesc_t* errmsg) {
  size_t sizes[CFI_MAX_RANK];
  size_t bytes = array->elem_len;
  void* memory = NULL;
  lacuna_status code = lacuna_fortran_read_sizes(extents, "extents", (size_t)array->rank, "dimensions", sizes);
  for (int i = 0; i < array->rank && code == LACUNA_OK; ++i) {
    if (__builtin_mul_overflow(bytes, sizes[i], &bytes)) {
      code = lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "the array would have more bytes than there are addresses");
    }
  }
  if (code == LACUNA_OK) code = lacuna_alloc(bytes, &memory);
  if (code == LACUNA_OK) {
    point(array, memory, sizes);
  } else {
    CFI_setpointer(array, NULL, NULL);
  }
  lacuna_fortran_end(code, "lacuna_alloc", status, errmsg);
}

void lacuna_fortran_free_array(CFI_cdesc_t* array) {
  lacuna_free(array->base_addr);
  CFI_setpointer(array, NULL, NULL);
}
