#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/checkpoint/hdf5.hpp"
#include "bindings/cpp/state.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::checkpoint::hdf5 {

/// An HDF5 file that Output has made, open for reading. Errors are Io and name the path. Only one thread uses it.
class Input {
 public:
  static Result<Input> open(std::filesystem::path path);
  /// Opens a sealed file (sealed_file.hpp). `kind` is what it should be, such as "a result file of `lacuna run`".
  static Result<Input> open_sealed(std::filesystem::path path, std::string_view kind);

  /// Returns the numbers and texts of an object, in the order in which they were written.
  Result<Attributes> attributes(const std::string& object) const;
  /// Returns the members of a group, in the order in which they were made.
  Result<std::vector<std::string>> names(const std::string& group) const;
  /// Describes a dataset of so many dimensions by name, dtype and count, without data.
  Result<StateItem> describe(const std::string& group, const std::string& name, int dimensions = 1) const;
  /// Fills the item, which describe() has described.
  Status read(const std::string& group, const StateItem& item) const;
  /// Reads a whole dataset of so many dimensions. `dtype` is that of T; the dataset has to have it too.
  template <class T>
  Status read_all(const std::string& group, const std::string& name, Dtype dtype, int dimensions,
                  std::vector<T>& values) const {
    Result<StateItem> item = describe(group, name, dimensions);
    if (!item) return item.status();
    if (item->dtype != dtype) return unexpected(group + "/" + name, "is of " + std::string(to_string(item->dtype)));
    values.resize(item->count);
    item->data = values.data();
    return read(group, *item);
  }
  Result<Table> table(const std::string& object) const;

 private:
  Input(std::filesystem::path path, File file) : path_(std::move(path)), file_(std::move(file)) {}

  Result<Attribute> attribute(hid_t owner, hsize_t index) const;
  Status read_records(hid_t dataset, std::size_t text_bytes, Table& table) const;
  Status unexpected(const std::string& object, const std::string& what) const;

  std::filesystem::path path_;
  File file_;
};

}  // namespace lacuna::checkpoint::hdf5
