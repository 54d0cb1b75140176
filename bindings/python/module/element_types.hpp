#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>

#include "bindings/python/module/dlpack.hpp"
#include "bindings/python/module/interpreter.hpp"

namespace lacuna::python {

/// The element type of a format of the buffer protocol, such as "f", with elements of this size. `text` is the object
/// for errors. Throws if lacuna has no such type.
lacuna_dtype dtype_of(const char* format, Py_ssize_t size, const char* name);
/// Returns the element type of a tensor of DLPack. Throws if lacuna has no such type.
lacuna_dtype dtype_of(const dlpack::Tensor& tensor, const char* name);
/// The type of elements of so many bytes that only the program understands. Throws if lacuna has none.
lacuna_dtype opaque_dtype(std::size_t size, const char* name);
/// Throws if elements of this format contain objects of Python.
void check_no_objects(const char* format, const char* name);
/// How a memoryview shows elements of a type.
struct Items {
  nb::dlpack::dtype type;
  std::size_t each;  ///< items in one element
};
/// Elements of bfloat16 are shown as uint16, and complex ones as pairs.
Items items_of(lacuna_dtype dtype);

}  // namespace lacuna::python
