#include "bindings/checkpoint/hdf5.hpp"

#include <fmt/format.h>

namespace lacuna::checkpoint::hdf5 {

namespace {

/// There is one mutex for the process, because HDF5's own state is one for the process too.
std::recursive_mutex& turns() {
  static std::recursive_mutex mutex;
  return mutex;
}

bool is_thread_safe() {
  static const bool answer = [] {
    hbool_t safe = false;
    return H5is_library_threadsafe(&safe) >= 0 && safe;
  }();
  return answer;
}

}  // namespace

Turn::Turn() : lock_(turns(), std::defer_lock) {
  if (!is_thread_safe()) lock_.lock();
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Turn::~Turn() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

Status failure(const std::filesystem::path& path, std::string_view attempt) {
  std::string reason;
  const auto innermost = [](unsigned entry, const H5E_error2_t* error, void* text) -> herr_t {
    if (entry == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &reason);
  if (reason.empty()) reason = "HDF5 gives no reason";
  return Status(Code::Io, fmt::format("{}: cannot {}: {}", path.string(), attempt, reason));
}

hid_t file_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::F32:
      return H5T_IEEE_F32LE;
    case Dtype::F64:
      return H5T_IEEE_F64LE;
    case Dtype::BF16:
    case Dtype::F16:
      return H5T_STD_U16LE;
    case Dtype::I32:
      return H5T_STD_I32LE;
    case Dtype::I64:
      return H5T_STD_I64LE;
    case Dtype::U8:
      return H5T_STD_U8LE;
    case Dtype::I8:
      return H5T_STD_I8LE;
    case Dtype::I16:
      return H5T_STD_I16LE;
    case Dtype::U16:
      return H5T_STD_U16LE;
    case Dtype::U32:
      return H5T_STD_U32LE;
    case Dtype::U64:
      return H5T_STD_U64LE;
    default:
      return -1;
  }
}

hid_t memory_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::F32:
      return H5T_NATIVE_FLOAT;
    case Dtype::F64:
      return H5T_NATIVE_DOUBLE;
    case Dtype::BF16:
    case Dtype::F16:
      return H5T_NATIVE_UINT16;
    case Dtype::I32:
      return H5T_NATIVE_INT32;
    case Dtype::I64:
      return H5T_NATIVE_INT64;
    case Dtype::U8:
      return H5T_NATIVE_UINT8;
    case Dtype::I8:
      return H5T_NATIVE_INT8;
    case Dtype::I16:
      return H5T_NATIVE_INT16;
    case Dtype::U16:
      return H5T_NATIVE_UINT16;
    case Dtype::U32:
      return H5T_NATIVE_UINT32;
    case Dtype::U64:
      return H5T_NATIVE_UINT64;
    default:
      return -1;
  }
}

Type text_type() {
  Type type(H5Tcopy(H5T_C_S1));
  if (H5Tset_size(type.get(), H5T_VARIABLE) < 0 || H5Tset_cset(type.get(), H5T_CSET_UTF8) < 0) return Type();
  return type;
}

Status check_name(const std::filesystem::path& path, std::string_view name) {
  const bool forbidden = name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos;
  if (!name.empty() && name != "." && !forbidden) return Status::ok();
  return Status(Code::InvalidArgument,
                fmt::format("{}: the name '{}' cannot be stored; a name is not empty, not '.', and has no '/' or zero "
                            "byte",
                            path.string(), name));
}

Type record_type(const Table& table, std::size_t text_bytes) {
  Type text(H5Tcopy(H5T_C_S1));
  if (H5Tset_size(text.get(), text_bytes) < 0 || H5Tset_cset(text.get(), H5T_CSET_UTF8) < 0) return Type();
  Type record(H5Tcreate(H5T_COMPOUND, text_bytes + table.columns.size() * sizeof(double)));
  if (H5Tinsert(record.get(), table.key_name.c_str(), 0, text.get()) < 0) return Type();
  std::size_t offset = text_bytes;
  for (const Table::Column& column : table.columns) {
    if (H5Tinsert(record.get(), column.name.c_str(), offset, H5T_NATIVE_DOUBLE) < 0) return Type();
    offset += sizeof(double);
  }
  return record;
}

}  // namespace lacuna::checkpoint::hdf5
