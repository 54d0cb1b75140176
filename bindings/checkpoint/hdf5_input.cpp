#include "bindings/checkpoint/hdf5_input.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "bindings/checkpoint/sealed_file.hpp"
#include "runtime/files/regular_file.hpp"
#include "runtime/values/count_of.hpp"

namespace lacuna::checkpoint::hdf5 {

namespace {

std::string member_name(hid_t record, unsigned index) {
  char* name = H5Tget_member_name(record, index);
  std::string copy = name == nullptr ? "" : name;
  H5free_memory(name);
  return copy;
}

bool read_text(hid_t attribute, std::string& value) {
  const Type type = text_type();
  char* text = nullptr;
  if (H5Aread(attribute, type.get(), &text) < 0) return false;
  value = text == nullptr ? "" : text;
  H5free_memory(text);
  return true;
}

}  // namespace

Result<Input> Input::open(std::filesystem::path path) {
  const Result<runtime::Fd> regular = open_regular(path, Links::Refused);
  if (!regular) return regular.status();
  const std::string same_file = fmt::format("/proc/self/fd/{}", regular->get());  // HDF5 would wait for a pipe
  File file(H5Fopen(same_file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  if (!file) return failure(path, "open the file");
  return Input(std::move(path), std::move(file));
}

Result<Input> Input::open_sealed(std::filesystem::path path, std::string_view kind) {
  constexpr std::size_t growth = 4096;
  Result<std::string> image = read_sealed(path, kind);
  if (!image) return image.status();
  const PropertyList access(H5Pcreate(H5P_FILE_ACCESS));
  const bool set = H5Pset_fapl_core(access.get(), growth, false) >= 0 &&
                   H5Pset_file_image(access.get(), image->data(), image->size()) >= 0;
  static std::atomic<std::uint64_t> images = 0;
  const std::string name = fmt::format("/dev/null/{}", ++images);  // HDF5 wants one of its own, at which no file lies
  File file(set ? H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.get()) : -1);
  if (!file) return failure(path, "open the file");
  return Input(std::move(path), std::move(file));
}

Result<Attributes> Input::attributes(const std::string& object) const {
  const Object owner(H5Oopen(file_.get(), object.c_str(), H5P_DEFAULT));
  H5O_info_t info;
  if (!owner || H5Oget_info2(owner.get(), &info, H5O_INFO_NUM_ATTRS) < 0) {
    return failure(path_, fmt::format("open '{}'", object));
  }
  Attributes found;
  for (hsize_t index = 0; index < info.num_attrs; ++index) {
    Result<Attribute> next = attribute(owner.get(), index);
    if (!next) return next.status();
    found.push_back(*std::move(next));
  }
  return found;
}

Result<Attribute> Input::attribute(hid_t owner, hsize_t index) const {
  const AttributeHandle handle(
      H5Aopen_by_idx(owner, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, index, H5P_DEFAULT, H5P_DEFAULT));
  const ssize_t length = handle ? H5Aget_name(handle.get(), 0, nullptr) : -1;
  if (length < 0) return failure(path_, fmt::format("open attribute {}", index));
  std::string name(static_cast<std::size_t>(length), '\0');
  H5Aget_name(handle.get(), name.size() + 1, name.data());

  const Type type(H5Aget_type(handle.get()));
  const Space space(H5Aget_space(handle.get()));
  if (H5Sget_simple_extent_npoints(space.get()) != 1) return unexpected(name, "is not one value");
  bool read = false;
  Attribute result{name, {}};
  if (H5Tget_class(type.get()) == H5T_INTEGER) {
    read = H5Aread(handle.get(), H5T_NATIVE_INT64, &result.value.emplace<std::int64_t>()) >= 0;
  } else if (H5Tget_class(type.get()) == H5T_FLOAT) {
    read = H5Aread(handle.get(), H5T_NATIVE_DOUBLE, &result.value.emplace<double>()) >= 0;
  } else if (H5Tis_variable_str(type.get()) > 0) {
    read = read_text(handle.get(), result.value.emplace<std::string>());
  } else {
    return unexpected(name, "is neither an integer nor a number nor a text of variable length");
  }
  if (!read) return failure(path_, fmt::format("read the attribute '{}'", name));
  return result;
}

Result<std::vector<std::string>> Input::names(const std::string& group) const {
  const Group owner(H5Gopen2(file_.get(), group.c_str(), H5P_DEFAULT));
  if (!owner) return failure(path_, fmt::format("open '{}'", group));
  std::vector<std::string> found;
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* names) -> herr_t {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
  };
  if (H5Literate(owner.get(), H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr, collect, &found) < 0) {
    return failure(path_, fmt::format("list '{}'", group));
  }
  return found;
}

Result<StateItem> Input::describe(const std::string& group, const std::string& name, int dimensions) const {
  const std::string object = group + "/" + name;
  const Dataset dataset(H5Dopen2(file_.get(), object.c_str(), H5P_DEFAULT));
  if (!dataset) return failure(path_, fmt::format("open '{}'", object));
  const Space space(H5Dget_space(dataset.get()));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (H5Sget_simple_extent_ndims(space.get()) != dimensions || count < 0) {
    return unexpected(object, fmt::format("does not have {}", count_of(dimensions, "dimension")));
  }

  const Result<Attributes> notes = attributes(object);
  if (!notes) return notes.status();
  const auto* word = find_attribute<std::string>(*notes, "dtype");
  const std::optional<Dtype> dtype = word == nullptr ? std::nullopt : parse_dtype(*word);
  const Type type(H5Dget_type(dataset.get()));
  if (!dtype || H5Tequal(type.get(), file_type(*dtype)) <= 0) {
    return unexpected(object, "does not say its dtype, or is not stored as that dtype");
  }
  return StateItem{name, *dtype, nullptr, static_cast<std::size_t>(count)};
}

Status Input::read(const std::string& group, const StateItem& item) const {
  if (item.count == 0) return Status::ok();
  const std::string object = group + "/" + item.name;
  const Dataset dataset(H5Dopen2(file_.get(), object.c_str(), H5P_DEFAULT));
  if (!dataset || H5Dread(dataset.get(), memory_type(item.dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, item.data) < 0) {
    return failure(path_, fmt::format("read '{}'", object));
  }
  return Status::ok();
}

Result<Table> Input::table(const std::string& object) const {
  const Dataset dataset(H5Dopen2(file_.get(), object.c_str(), H5P_DEFAULT));
  if (!dataset) return failure(path_, fmt::format("open '{}'", object));
  const Type record(H5Dget_type(dataset.get()));
  const int members = H5Tget_class(record.get()) == H5T_COMPOUND ? H5Tget_nmembers(record.get()) : 0;
  if (members < 1 || H5Tget_member_class(record.get(), 0) != H5T_STRING) {
    return unexpected(object, "is not a table whose first column is a text");
  }
  Table table;
  table.key_name = member_name(record.get(), 0);
  for (unsigned index = 1; index < static_cast<unsigned>(members); ++index) {
    table.columns.push_back({member_name(record.get(), index), {}});
  }
  const Type text(H5Tget_member_type(record.get(), 0));
  const std::size_t text_bytes = H5Tget_size(text.get());
  const Type expected = record_type(table, text_bytes);
  if (H5Tequal(record.get(), expected.get()) <= 0) return unexpected(object, "has columns that are not of doubles");
  const Status read = read_records(dataset.get(), text_bytes, table);
  if (!read) return read;
  return table;
}

Status Input::read_records(hid_t dataset, std::size_t text_bytes, Table& table) const {
  const Space space(H5Dget_space(dataset));
  const hssize_t rows = H5Sget_simple_extent_npoints(space.get());
  const std::size_t record_bytes = text_bytes + table.columns.size() * sizeof(double);
  if (rows < 0) return failure(path_, "read a table's length");
  std::vector<char> records(static_cast<std::size_t>(rows) * record_bytes);
  const Type record = record_type(table, text_bytes);
  if (H5Dread(dataset, record.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, records.data()) < 0) {
    return failure(path_, "read a table");
  }
  for (const char* at = records.data(); at != records.data() + records.size();) {
    table.keys.emplace_back(at, strnlen(at, text_bytes));
    at += text_bytes;
    for (Table::Column& column : table.columns) {
      std::memcpy(&column.values.emplace_back(), at, sizeof(double));
      at += sizeof(double);
    }
  }
  return Status::ok();
}

Status Input::unexpected(const std::string& object, const std::string& what) const {
  return Status(Code::Io, fmt::format("{}: '{}' {}", path_.string(), object, what));
}

}  // namespace lacuna::checkpoint::hdf5
