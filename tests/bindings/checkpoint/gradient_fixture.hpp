#pragma once

#include <hdf5.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

namespace lacuna::test {

/// A file of gradients as users write it with other programs: in HDF5's oldest format, with groups made as they are
/// needed.
class UserFile {
 public:
  explicit UserFile(const std::filesystem::path& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)), links_(H5Pcreate(H5P_LINK_CREATE)) {
    H5Pset_create_intermediate_group(links_, 1);
  }
  UserFile(const UserFile&) = delete;
  UserFile& operator=(const UserFile&) = delete;
  ~UserFile() {
    H5Pclose(links_);
    H5Fclose(file_);
  }

  hid_t id() const { return file_; }
  /// How a dataset is made, unless it is made as usual.
  hid_t creation = H5P_DEFAULT;

  /// Writes a dataset with these sides: "000003/rank-1/weights" of the steps, say, or with '/' before it, of the file.
  template <class T>
  void put(const std::string& tensor, hid_t type, const std::vector<T>& values, std::vector<hsize_t> sides = {}) {
    if (sides.empty()) sides = {values.size()};
    const hid_t space = H5Screate_simple(static_cast<int>(sides.size()), sides.data(), nullptr);
    const hid_t dataset = H5Dcreate2(file_, place_of(tensor).c_str(), type, space, links_, creation, H5P_DEFAULT);
    if (!values.empty()) H5Dwrite(dataset, memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(dataset);
    H5Sclose(space);
  }
  void put(const std::string& tensor, const std::vector<float>& values) { put(tensor, H5T_IEEE_F32LE, values); }

  void group(const std::string& name) {
    H5Gclose(H5Gcreate2(file_, place_of(name).c_str(), links_, H5P_DEFAULT, H5P_DEFAULT));
  }
  /// Gives a tensor a text, with variable length or with its own length.
  void attribute(const std::string& tensor, const std::string& name, const std::string& text, bool variable) {
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, variable ? H5T_VARIABLE : text.size());
    H5Tset_cset(type, H5T_CSET_UTF8);
    const hid_t attribute = H5Acreate_by_name(file_, place_of(tensor).c_str(), name.c_str(), type, space, H5P_DEFAULT,
                                              H5P_DEFAULT, H5P_DEFAULT);
    const char* pointer = text.c_str();
    H5Awrite(attribute, type, variable ? static_cast<const void*>(&pointer) : text.data());
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
  }

 private:
  static std::string place_of(const std::string& name) { return name.starts_with('/') ? name : "/steps/" + name; }
  template <class T>
  static hid_t memory_type() {
    if constexpr (sizeof(T) == 2) return H5T_NATIVE_USHORT;
    if constexpr (std::is_same_v<T, int>) return H5T_NATIVE_INT;
    return sizeof(T) == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  }

  hid_t file_, links_;
};

}  // namespace lacuna::test
