#pragma once

#include <cstddef>

#include "bindings/python/module/dlpack.hpp"
#include "bindings/python/module/interpreter.hpp"

namespace lacuna::python {

/// Memory of an object of Python, by the buffer protocol or by DLPack. It keeps the object alive, and its memory where
/// it is.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { release(); }

  /// Takes the memory of an object, or throws why it can't be used. `name` is what errors call it.
  void take(nb::handle object, const char* name);
  /// The same for elements that only the program understands, of so many bytes; 0: as many as those of the object have.
  void take_opaque(nb::handle object, const char* name, std::size_t size);
  void release();
  /// Throws if the memory must not be written.
  void check_writable(const char* name) const;
  /// Throws unless the memory is of the kind of that of another buffer, and on the same device.
  void check_alike(const char* name, const Buffer& other) const;
  /// Throws unless the elements are of this type.
  void check_dtype(const char* name, lacuna_dtype dtype, const char* words) const;

  explicit operator bool() const { return taken_; }
  /// Are its elements truth values, which lacuna knows as u8?
  bool is_bool() const { return bool_; }
  const lacuna_buffer& c() const { return buffer_; }
  std::size_t element_size() const { return element_size_; }  ///< bytes

 private:
  bool take_by_exchange(nb::handle object, const char* name);
  void take_by_protocol(nb::handle object, const char* name);
  void take_by_dlpack(nb::handle object, const char* name);
  void fill(const dlpack::Tensor& tensor, const char* name);

  lacuna_buffer buffer_ = LACUNA_BUFFER_INIT;
  Py_buffer view_{};  // its obj is null if there is none
  nb::object owner_;  // a tensor or a capsule
  std::size_t element_size_ = 1;
  bool opaque_ = false;  // its elements may be of any type
  bool read_only_ = false;
  bool bool_ = false;
  bool taken_ = false;
};

}  // namespace lacuna::python
