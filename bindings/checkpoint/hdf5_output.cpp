#include "bindings/checkpoint/hdf5_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/values/count_of.hpp"

namespace lacuna::checkpoint::hdf5 {

namespace {

constexpr unsigned remember_order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;

PropertyList ordered_group(hid_t list_class) {
  PropertyList list(H5Pcreate(list_class));
  if (H5Pset_obj_track_times(list.get(), false) < 0 || H5Pset_link_creation_order(list.get(), remember_order) < 0 ||
      H5Pset_attr_creation_order(list.get(), remember_order) < 0) {
    return PropertyList();
  }
  return list;
}

Dataset make_dataset(hid_t file, const std::string& object, hid_t type, const std::vector<hsize_t>& extent) {
  const PropertyList creation(H5Pcreate(H5P_DATASET_CREATE));
  if (H5Pset_obj_track_times(creation.get(), false) < 0) return Dataset();
  const Space space(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr));
  return Dataset(H5Dcreate2(file, object.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
}

PropertyList file_access(std::size_t bytes) {
  PropertyList list(H5Pcreate(H5P_FILE_ACCESS));
  if (H5Pset_libver_bounds(list.get(), H5F_LIBVER_V18, H5F_LIBVER_V18) < 0 ||
      H5Pset_fclose_degree(list.get(), H5F_CLOSE_STRONG) < 0 || H5Pset_fapl_core(list.get(), bytes, false) < 0) {
    return PropertyList();
  }
  return list;
}

struct AttributeWriter {
  hid_t object;
  const char* name;

  bool write(hid_t stored, hid_t given, const void* value) const {
    Space scalar(H5Screate(H5S_SCALAR));
    AttributeHandle attribute(H5Acreate2(object, name, stored, scalar.get(), H5P_DEFAULT, H5P_DEFAULT));
    return attribute && H5Awrite(attribute.get(), given, value) >= 0;
  }
  bool operator()(std::int64_t value) const { return write(H5T_STD_I64LE, H5T_NATIVE_INT64, &value); }
  bool operator()(double value) const { return write(H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value); }
  bool operator()(const std::string& value) const {
    const Type type = text_type();
    const char* text = value.c_str();
    return write(type.get(), type.get(), &text);
  }
};

std::vector<char> records_of(const Table& table, std::size_t text_bytes) {
  const std::size_t record_bytes = text_bytes + table.columns.size() * sizeof(double);
  std::vector<char> records(table.keys.size() * record_bytes);
  for (std::size_t row = 0; row < table.keys.size(); ++row) {
    char* at = records.data() + row * record_bytes;
    std::copy(table.keys[row].begin(), table.keys[row].end(), at);
    at += text_bytes;
    for (const Table::Column& column : table.columns) {
      std::memcpy(at, &column.values[row], sizeof(double));
      at += sizeof(double);
    }
  }
  return records;
}

}  // namespace

bool write_attribute(hid_t object, const Attribute& attribute) {
  return std::visit(AttributeWriter{object, attribute.name.c_str()}, attribute.value);
}

Output::Output(std::filesystem::path path, std::size_t bytes) : path_(std::move(path)) {
  constexpr std::size_t metadata_bytes = 64 * 1024;
  const PropertyList creation = ordered_group(H5P_FILE_CREATE);
  const PropertyList access = file_access(bytes + metadata_bytes);
  file_ = File(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
  if (!file_) fail("create the file's image in memory");
}

void Output::group(const std::string& object) {
  if (!status_) return;
  const PropertyList creation = ordered_group(H5P_GROUP_CREATE);
  if (!Group(H5Gcreate2(file_.get(), object.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT))) {
    fail(fmt::format("make the group '{}'", object));
  }
}

void Output::attribute(const std::string& object, const Attribute& attribute) {
  check_text(attribute);
  if (!status_) return;
  const Object owner(H5Oopen(file_.get(), object.c_str(), H5P_DEFAULT));
  if (!owner || !write_attribute(owner.get(), attribute)) {
    fail(fmt::format("write the attribute '{}' of '{}'", attribute.name, object));
  }
}

void Output::attributes(const std::string& object, const Attributes& attributes) {
  for (const Attribute& each : attributes) attribute(object, each);
}

void Output::array(const std::string& group, const StateItem& item, std::size_t columns) {
  if (status_) status_ = check_name(path_, item.name);
  if (!status_) return;
  if (item.data == nullptr && item.count > 0) {
    status_ = Status(Code::InvalidArgument, fmt::format("{}: '{}' has {} but no memory", path_.string(), item.name,
                                                        count_of(item.count, "element")));
    return;
  }
  if (!is_real(item.dtype)) {
    status_ = Status(Code::Unsupported, fmt::format("{}: '{}' is of {}; a checkpoint holds floating-point numbers and "
                                                    "integers, so save its bytes as u8",
                                                    path_.string(), item.name, to_string(item.dtype)));
    return;
  }
  const std::string object = group + "/" + item.name;
  std::vector<hsize_t> extent = {item.count};
  if (columns > 0) extent = {item.count / columns, columns};
  const Dataset dataset = make_dataset(file_.get(), object, file_type(item.dtype), extent);
  const bool written = dataset && (item.count == 0 || H5Dwrite(dataset.get(), memory_type(item.dtype), H5S_ALL, H5S_ALL,
                                                               H5P_DEFAULT, item.data) >= 0);
  if (!written) return fail(fmt::format("write '{}'", object));
  attribute(object, {"dtype", std::string(to_string(item.dtype))});
}

void Output::table(const std::string& object, const Table& table) {
  if (!status_) return;
  std::size_t text_bytes = 1;
  for (const std::string& key : table.keys) text_bytes = std::max(text_bytes, key.size() + 1);
  const Type record = record_type(table, text_bytes);
  const std::vector<char> records = records_of(table, text_bytes);
  const Dataset dataset = make_dataset(file_.get(), object, record.get(), {table.keys.size()});
  if (!dataset || H5Dwrite(dataset.get(), record.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, records.data()) < 0) {
    fail(fmt::format("write the table '{}'", object));
  }
}

std::uint64_t Output::place_of(const std::string& object) {
  if (!status_) return 0;
  const Dataset dataset(H5Dopen2(file_.get(), object.c_str(), H5P_DEFAULT));
  const haddr_t place = dataset ? H5Dget_offset(dataset.get()) : HADDR_UNDEF;
  if (place == HADDR_UNDEF) fail(fmt::format("find the elements of '{}'", object));
  return place;
}

Status Output::finish(const std::function<Status(std::span<const std::byte>)>& use) {
  if (!status_) return status_;
  void* memory = nullptr;
  const bool flushed = H5Fflush(file_.get(), H5F_SCOPE_GLOBAL) >= 0;
  const ssize_t bytes = flushed ? H5Fget_file_image(file_.get(), nullptr, 0) : -1;
  if (bytes < 0 || H5Fget_vfd_handle(file_.get(), H5P_DEFAULT, &memory) < 0) {
    fail("take the file's image from memory");
    return status_;
  }
  const auto* image = *static_cast<const std::byte* const*>(memory);
  return use({image, static_cast<std::size_t>(bytes)});
}

void Output::fail(std::string attempt) {
  if (status_) status_ = failure(path_, attempt);
}

void Output::check_text(const Attribute& attribute) {
  if (status_) status_ = check_name(path_, attribute.name);
  const auto* text = std::get_if<std::string>(&attribute.value);
  if (!status_ || text == nullptr || text->find('\0') == std::string::npos) return;
  status_ = Status(Code::InvalidArgument, fmt::format("{}: the text '{}' holds a zero byte, which is not allowed",
                                                      path_.string(), attribute.name));
}

}  // namespace lacuna::checkpoint::hdf5
