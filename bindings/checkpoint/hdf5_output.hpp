#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "bindings/checkpoint/hdf5.hpp"
#include "bindings/cpp/state.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::checkpoint::hdf5 {

/// Gives an object of a file an attribute. Returns false if HDF5 refuses.
bool write_attribute(hid_t object, const Attribute& attribute);

/// Builds an HDF5 file in memory. HDF5 1.10 does not survive a failed write (a full disk ends in a crash at exit), so
/// lacuna itself writes the bytes to the disk. After the first error, later calls do nothing, and finish() returns the
/// error. Object names are absolute paths inside the file. Equal content makes equal bytes. Only one thread uses it.
class Output {
 public:
  /// `path` is where the file will be, for texts. `bytes` is about what arrays and texts take.
  Output(std::filesystem::path path, std::size_t bytes);

  /// Makes a group that remembers the order in which its members were made.
  void group(const std::string& object);
  void attribute(const std::string& object, const Attribute& attribute);
  void attributes(const std::string& object, const Attributes& attributes);
  /// Writes the dataset item.name in a group, with the name of its dtype as the attribute "dtype". It has one
  /// dimension, or rows of so many columns.
  void array(const std::string& group, const StateItem& item, std::size_t columns = 0);
  void table(const std::string& object, const Table& table);
  /// Returns where the elements of a dataset of array() begin in the file, in bytes. They lie there one after the
  /// other.
  std::uint64_t place_of(const std::string& object);

  /// Hands the bytes of the finished file to `use`, once. They live only for that call.
  Status finish(const std::function<Status(std::span<const std::byte>)>& use);

 private:
  void fail(std::string attempt);
  void check_text(const Attribute& attribute);

  std::filesystem::path path_;
  Status status_;
  File file_;
};

}  // namespace lacuna::checkpoint::hdf5
