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

/// Owns one HDF5 identifier. A negative identifier, as failed calls return it, counts as none.
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

/// Code that calls HDF5 holds one of these meanwhile, as a local variable. Where HDF5 was built without thread safety,
/// only one thread of this process has its turn at a time; a thread may have several at once. Meanwhile HDF5 prints no
/// errors of this thread. At the end the program's own setting returns.
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

/// Returns an Io status with the path, what was attempted, and the innermost text of HDF5's error stack. Call it
/// directly after a failed HDF5 call of this thread.
Status failure(const std::filesystem::path& path, std::string_view attempt);

/// Returns how elements lie in a file. The 16-bit floats are stored as unsigned integers, and an attribute names them.
hid_t file_type(Dtype dtype);
/// Returns how elements lie in memory.
hid_t memory_type(Dtype dtype);

/// Returns the type of a UTF-8 text of variable length.
Type text_type();

/// Checks that HDF5 can have a link of that name in a group: it is not empty, not ".", and has no '/' and no zero byte.
Status check_name(const std::filesystem::path& path, std::string_view name);

/// A dataset of records, each of which has a text and some numbers.
struct Table {
  struct Column {
    std::string name;
    std::vector<double> values;  ///< one for each key
  };
  std::string key_name;
  std::vector<std::string> keys;
  std::vector<Column> columns;
};

/// Returns the type of one record: a text of `text_bytes` bytes with at least one zero byte at its end, then the
/// doubles, with nothing between them.
Type record_type(const Table& table, std::size_t text_bytes);

}  // namespace lacuna::checkpoint::hdf5
