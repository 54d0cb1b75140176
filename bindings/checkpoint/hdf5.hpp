#pragma once

#include <hdf5.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::checkpoint::hdf5 {

/// Owns one HDF5 identifier; a negative one, as failed calls return it, is empty.
template <herr_t (*close)(hid_t)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, -1);
    }
    return *this;
  }
  ~Handle() { reset(); }

  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  void reset() {
    if (id_ >= 0) close(id_);
    id_ = -1;
  }

  hid_t id_ = -1;
};

using File = Handle<H5Fclose>;
using Group = Handle<H5Gclose>;
using Object = Handle<H5Oclose>;
using Dataset = Handle<H5Dclose>;
using Space = Handle<H5Sclose>;
using Type = Handle<H5Tclose>;
using AttributeHandle = Handle<H5Aclose>;
using PropertyList = Handle<H5Pclose>;

/// All that calls HDF5 does so while it has one of these, a local variable. Where the library was built without thread
/// safety, only one thread of this process has its turn at a time; a thread may have several at once. HDF5 prints no
/// errors in this thread meanwhile; the program's own setting returns with the end.
class Turn {
 public:
  Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// Call it directly after a failed HDF5 call of this thread: an Io status of the path, what was attempted and the
/// innermost text of HDF5's error stack.
Status failure(const std::filesystem::path& path, std::string_view attempt);

/// How elements lie in a file. The 16-bit floats are stored as unsigned integers; an attribute names them.
hid_t file_type(Dtype dtype);
/// How they lie in memory.
hid_t memory_type(Dtype dtype);

/// A UTF-8 text of variable length.
Type text_type();

/// Whether HDF5 can have a link of that name in a group: not empty, not ".", without '/' and zero bytes.
Status check_name(const std::filesystem::path& path, std::string_view name);

/// A dataset of records, each of a text and some numbers.
struct Table {
  struct Column {
    std::string name;
    std::vector<double> values;  ///< one for each key
  };
  std::string key_name;
  std::vector<std::string> keys;
  std::vector<Column> columns;
};

/// The type of one record: a text of `text_bytes` bytes, at least one zero byte at its end, then the doubles, without
/// gaps.
Type record_type(const Table& table, std::size_t text_bytes);

}  // namespace lacuna::checkpoint::hdf5
