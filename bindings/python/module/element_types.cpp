#include "bindings/python/module/element_types.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

namespace lacuna::python {
namespace {

constexpr const char* known =
    "floating point of 16 to 64 bits (bfloat16 too), integers of 8 to 64 bits, bool, complex64, complex128, and "
    "structures of a value and an int64 index";

[[noreturn]] void unknown(const char* name, const std::string& what) {
  fail(LACUNA_INVALID_ARGUMENT, std::string(name) + " has elements of " + what + "; allowed: " + known);
}

enum class Kind { Signed, Unsigned, Float, Bfloat, Complex };

struct Row {
  Kind kind;
  int size;  // bytes
  lacuna_dtype dtype;
};

constexpr Row rows[] = {
    {Kind::Float, 4, LACUNA_F32},    {Kind::Float, 8, LACUNA_F64},     {Kind::Bfloat, 2, LACUNA_BF16},
    {Kind::Float, 2, LACUNA_F16},    {Kind::Signed, 4, LACUNA_I32},    {Kind::Signed, 8, LACUNA_I64},
    {Kind::Unsigned, 1, LACUNA_U8},  {Kind::Signed, 1, LACUNA_I8},     {Kind::Signed, 2, LACUNA_I16},
    {Kind::Unsigned, 2, LACUNA_U16}, {Kind::Unsigned, 4, LACUNA_U32},  {Kind::Unsigned, 8, LACUNA_U64},
    {Kind::Complex, 8, LACUNA_C64},  {Kind::Complex, 16, LACUNA_C128},
};

std::optional<lacuna_dtype> find(Kind kind, Py_ssize_t size) {
  for (const Row& row : rows) {
    if (row.kind == kind && row.size == size) return row.dtype;
  }
  return std::nullopt;
}

/// The kind of a number that a character of the struct module describes, after a Z if it is complex.
std::optional<Kind> kind_of(std::string_view code) {
  if (code == "Zf" || code == "Zd") return Kind::Complex;
  if (code.size() != 1) return std::nullopt;
  if (std::strchr("bhilqn", code[0])) return Kind::Signed;
  if (std::strchr("?BHILQNc", code[0])) return Kind::Unsigned;
  if (std::strchr("efd", code[0])) return Kind::Float;
  return std::nullopt;
}

/// The type of a structure of a value and its index, as numpy describes an aligned one: T{f:value:xxxxl:index:}.
std::optional<lacuna_dtype> find_located(std::string_view format, Py_ssize_t size) {
  const auto at = format.find(":value:");
  if (size != 16 || !format.starts_with("T{") || at < 3 || at == format.npos) return std::nullopt;
  if (!format.ends_with("l:index:}") && !format.ends_with("q:index:}")) return std::nullopt;
  switch (format[at - 1]) {
    case 'f':
      return LACUNA_LOCATED_F32;
    case 'd':
      return LACUNA_LOCATED_F64;
    case 'i':
      return LACUNA_LOCATED_I32;
    case 'l':
    case 'q':
      return LACUNA_LOCATED_I64;
    default:
      return std::nullopt;
  }
}

}  // namespace

lacuna_dtype dtype_of(const char* format, Py_ssize_t size, const char* name) {
  std::string_view code = format ? format : "B";
  if (!code.empty() && std::strchr("@=<^", code[0])) code.remove_prefix(1);  // a machine of lacuna is little-endian
  const auto kind = kind_of(code);
  const auto dtype = kind ? find(*kind, size) : find_located(code, size);
  if (!dtype)
    unknown(name, "format '" + std::string(format ? format : "") + "' with " + std::to_string(size) + " bytes");
  return *dtype;
}

lacuna_dtype dtype_of(const dlpack::Tensor& tensor, const char* name) {
  std::optional<Kind> kind;
  switch (tensor.code) {
    case dlpack::Int:
      kind = Kind::Signed;
      break;
    case dlpack::Bool:
    case dlpack::UInt:
      kind = Kind::Unsigned;
      break;
    case dlpack::Float:
      kind = Kind::Float;
      break;
    case dlpack::Bfloat:
      kind = Kind::Bfloat;
      break;
    case dlpack::Complex:
      kind = Kind::Complex;
      break;
    default:
      break;
  }
  const bool whole = tensor.lanes == 1 && tensor.bits % 8 == 0;
  const auto dtype = kind && whole ? find(*kind, tensor.bits / 8) : std::nullopt;
  if (!dtype) {
    unknown(name, "DLPack's type code " + std::to_string(tensor.code) + " with " + std::to_string(tensor.bits) +
                      " bits and " + std::to_string(tensor.lanes) + " lanes");
  }
  return *dtype;
}

void check_no_objects(const char* format, const char* name) {
  bool in_name = false;
  for (const char* at = format ? format : ""; *at; ++at) {
    if (*at == ':') in_name = !in_name;
    if (*at == 'O' && !in_name) unknown(name, "objects of Python");
  }
}

lacuna_dtype opaque_dtype(std::size_t size, const char* name) {
  if (!std::has_single_bit(size) || size > 64) {
    fail(LACUNA_INVALID_ARGUMENT, std::string(name) + " has elements of " + std::to_string(size) +
                                      " bytes; a reduction of the program's own takes 1, 2, 4, 8, 16, 32 or 64");
  }
  return static_cast<lacuna_dtype>(LACUNA_BYTES_1 + std::countr_zero(size));
}

Items items_of(lacuna_dtype dtype) {
  const auto shown = [](dlpack::Code code, int size) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size), 1};
  };
  const auto* const row = std::ranges::find(rows, dtype, &Row::dtype);
  if (row == std::end(rows)) return {shown(dlpack::UInt, 1), 1};
  switch (row->kind) {
    case Kind::Signed:
      return {shown(dlpack::Int, row->size), 1};
    case Kind::Float:
      return {shown(dlpack::Float, row->size), 1};
    case Kind::Complex:
      return {shown(dlpack::Float, row->size / 2), 2};
    default:
      return {shown(dlpack::UInt, row->size), 1};
  }
}

}  // namespace lacuna::python
