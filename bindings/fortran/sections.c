#include <stdlib.h>
#include <string.h>

#include "shim.h"

/* The element type of a type of Fortran, or -1. */
static int32_t dtype_of(CFI_type_t type) {
  if (type == CFI_type_float) return LACUNA_F32;
  if (type == CFI_type_double) return LACUNA_F64;
  if (type == CFI_type_float_Complex) return LACUNA_C64;
  if (type == CFI_type_double_Complex) return LACUNA_C128;
  if (type == CFI_type_int8_t) return LACUNA_I8;
  if (type == CFI_type_int16_t) return LACUNA_I16;
  if (type == CFI_type_int32_t) return LACUNA_I32;
  if (type == CFI_type_int64_t) return LACUNA_I64;
  return -1;
}

/* Bytes of an element type, or 0. */
static size_t bytes_of(int32_t dtype) {
  lacuna_dtype_row row = LACUNA_DTYPE_ROW_INIT;
  return dtype >= 0 && lacuna_list_dtypes((size_t)dtype, &row, NULL) == LACUNA_OK ? row.size : 0;
}

static lacuna_status read_type(const CFI_cdesc_t* array, const char* name, const int32_t* dtype,
                               lacuna_fortran_section* section) {
  section->element = array->elem_len;
  section->dtype = dtype ? *dtype : dtype_of(array->type);
  if (section->dtype < 0 && !dtype) {
    return lacuna_fortran_refuse(
        LACUNA_INVALID_ARGUMENT,
        "the type of %s, with elements of %zu bytes, is none of these: integer of 8 to 64 bits, "
        "real or complex of single or double precision; dtype= says what other elements are",
        name, array->elem_len);
  }
  const size_t bytes = bytes_of(section->dtype);
  if (bytes == array->elem_len) return LACUNA_OK;
  if (bytes == 0) {
    size_t types = 0;
    lacuna_list_dtypes(0, NULL, &types);
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "dtype is %d, must be 0 .. %zu", (int)section->dtype,
                                 types - 1);
  }
  return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "elements of %s have %zu bytes, those of its dtype have %zu",
                               name, array->elem_len, bytes);
}

/* Reads extents and strides. Dimensions that lie behind each other without a gap become one. */
static lacuna_status read_shape(const CFI_cdesc_t* array, const char* name, lacuna_fortran_section* section) {
  section->rank = 0;
  section->count = 1;
  for (int d = 0; d < array->rank; ++d) {
    const ptrdiff_t extent = array->dim[d].extent, stride = array->dim[d].sm;
    if (extent < 0 || (!array->base_addr && extent > 0)) {
      if (!array->base_addr) return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "%s is not allocated", name);
      return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT,
                                   "%s is an array of assumed size; give a section with bounds, such as x(1:n)", name);
    }
    section->count *= (size_t)extent;
    if (extent == 1) continue;
    const int last = section->rank - 1;
    if (last >= 0 && section->strides[last] * section->extents[last] == stride) {
      section->extents[last] *= extent;
    } else {
      section->extents[section->rank] = extent;
      section->strides[section->rank++] = stride;
    }
  }
  return LACUNA_OK;
}

lacuna_status lacuna_fortran_read_section(const CFI_cdesc_t* array, const char* name, const int32_t* dtype,
                                          lacuna_fortran_section* section) {
  section->base = array->base_addr;
  section->packed = NULL;
  lacuna_status code = read_type(array, name, dtype, section);
  return code == LACUNA_OK ? read_shape(array, name, section) : code;
}

static bool has_gaps(const lacuna_fortran_section* section) {
  if (section->count < 2) return false;
  return section->rank > 1 || section->strides[0] != (ptrdiff_t)section->element;
}

lacuna_status lacuna_fortran_make_room(lacuna_fortran_section* section) {
  if (!has_gaps(section)) return LACUNA_OK;
  section->packed = malloc(section->count * section->element);
  return section->packed ? LACUNA_OK : lacuna_fortran_refuse(LACUNA_INTERNAL, "out of memory");
}

/* Copies elements of one dimension, from or to their copy without gaps. */
static void copy_line(char* gaps, ptrdiff_t stride, char* packed, size_t element, ptrdiff_t count, bool pack) {
  for (ptrdiff_t i = 0; i < count; ++i, gaps += stride, packed += element) {
    char* to = pack ? packed : gaps;
    const char* from = pack ? gaps : packed;
    switch (element) {
      case 4:
        memcpy(to, from, 4);
        break;
      case 8:
        memcpy(to, from, 8);
        break;
      default:
        memcpy(to, from, element);
    }
  }
}

static void copy(const lacuna_fortran_section* section, bool pack) {
  ptrdiff_t at[CFI_MAX_RANK] = {0};
  char *gaps = section->base, *packed = section->packed;
  if (!packed) return;
  for (int d = 0; d < section->rank;) {
    copy_line(gaps, section->strides[0], packed, section->element, section->extents[0], pack);
    packed += (size_t)section->extents[0] * section->element;
    for (d = 1; d < section->rank; ++d) {
      gaps += section->strides[d];
      if (++at[d] < section->extents[d]) break;
      gaps -= section->strides[d] * section->extents[d];
      at[d] = 0;
    }
  }
}

void lacuna_fortran_pack(const lacuna_fortran_section* section) { copy(section, true); }

void lacuna_fortran_unpack(const lacuna_fortran_section* section) { copy(section, false); }

lacuna_buffer lacuna_fortran_buffer(const lacuna_fortran_section* section) {
  lacuna_buffer buffer = LACUNA_BUFFER_INIT;
  buffer.data = section->packed ? section->packed : section->base;
  buffer.count = section->count;
  buffer.dtype = section->dtype;
  return buffer;
}

lacuna_status lacuna_fortran_read_sizes(const CFI_cdesc_t* array, const char* name, size_t count, const char* owners,
                                        size_t* values) {
  if (array->rank != 1 || (array->type != CFI_type_int32_t && array->type != CFI_type_int64_t)) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "%s must be an array of integers with one dimension", name);
  }
  if (array->dim[0].extent != (CFI_index_t)count) {
    return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "%s has %td elements, must have one for each of %zu %s", name,
                                 (ptrdiff_t)array->dim[0].extent, count, owners);
  }
  const char* from = array->base_addr;
  for (size_t i = 0; i < count; ++i, from += array->dim[0].sm) {
    int64_t value;
    if (array->type == CFI_type_int64_t) {
      memcpy(&value, from, sizeof value);
    } else {
      int32_t narrow;
      memcpy(&narrow, from, sizeof narrow);
      value = narrow;
    }
    if (value < 0) {
      return lacuna_fortran_refuse(LACUNA_INVALID_ARGUMENT, "%s has a negative element, %lld", name, (long long)value);
    }
    values[i] = (size_t)value;
  }
  return LACUNA_OK;
}
