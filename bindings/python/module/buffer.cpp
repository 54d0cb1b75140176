#include "bindings/python/module/buffer.hpp"

#include <utility>

#include "bindings/python/module/element_types.hpp"

namespace lacuna::python {
namespace {

[[noreturn]] void not_contiguous(const char* name) {
  fail(LACUNA_INVALID_ARGUMENT, std::string(name) +
                                    " is not contiguous in C order; give a contiguous array, such as that of "
                                    "numpy.ascontiguousarray() or Tensor.contiguous()");
}

bool is_contiguous(const dlpack::Tensor& tensor) {
  if (!tensor.strides) return true;
  std::int64_t expected = 1;
  bool contiguous = true;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) contiguous = false;
    expected *= tensor.shape[i];
  }
  return contiguous;
}

/// Is this an array of numpy whose elements are the bfloat16 of ml_dtypes? The buffer protocol can't describe them.
bool is_bfloat16_array(nb::handle object) {
  nb::object dtype = nb::getattr(object, "dtype", nb::none());
  nb::object name = nb::getattr(dtype, "name", nb::none());
  return PyUnicode_Check(name.ptr()) && PyUnicode_CompareWithASCIIString(name.ptr(), "bfloat16") == 0 &&
         nb::hasattr(object, "view");
}

/// The result of object.__dlpack__(). Old ones know no versions.
nb::object capsule_of(nb::handle object) {
  nb::object method = object.attr("__dlpack__");
  try {
    return method(nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method();
}

}  // namespace

void Buffer::take(nb::handle object, const char* name) {
  release();
  if (PyObject_CheckBuffer(object.ptr())) {
    take_by_protocol(object, name);
  } else if (!take_by_exchange(object, name)) {
    take_by_dlpack(object, name);
  }
  taken_ = true;
}

void Buffer::take_opaque(nb::handle object, const char* name, std::size_t size) {
  opaque_ = true;
  take(object, name);
  const std::size_t bytes = buffer_.count * element_size_;
  if (size > 0) element_size_ = size;
  buffer_.dtype = opaque_dtype(element_size_, name);
  if (bytes % element_size_ != 0) {
    fail(LACUNA_INVALID_ARGUMENT, std::string(name) + " has " + std::to_string(bytes) +
                                      " bytes, which are no whole elements of " + std::to_string(element_size_));
  }
  buffer_.count = bytes / element_size_;
}

void Buffer::release() {
  if (view_.obj) PyBuffer_Release(&view_);
  owner_.reset();
  read_only_ = taken_ = false;
}

void Buffer::check_writable(const char* name) const {
  if (read_only_) fail(LACUNA_INVALID_ARGUMENT, std::string(name) + " is read-only, but the call writes to it");
}

void Buffer::check_dtype(const char* name, lacuna_dtype dtype, const char* words) const {
  if (buffer_.dtype != dtype) fail(LACUNA_INVALID_ARGUMENT, std::string(name) + " must have elements of " + words);
}

void Buffer::check_alike(const char* name, const Buffer& other) const {
  const lacuna_buffer& its = other.buffer_;
  if (buffer_.memory == its.memory && (buffer_.memory == LACUNA_MEMORY_HOST || buffer_.device == its.device)) return;
  const auto words = [](const lacuna_buffer& buffer) {
    return buffer.memory == LACUNA_MEMORY_HOST ? "in memory of the host" : "on device " + std::to_string(buffer.device);
  };
  fail(LACUNA_INVALID_ARGUMENT, std::string(name) + " lies " + words(buffer_) + ", and other buffers of the call lie " +
                                    words(its) + "; they must lie in one memory");
}

void Buffer::take_by_protocol(nb::handle object, const char* name) {
  bool bfloat16 = false;
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_RECORDS_RO) != 0) {
    nb::python_error error;  // takes the error of Python
    if (!is_bfloat16_array(object)) {
      fail(LACUNA_INVALID_ARGUMENT, std::string(name) + " gives no buffer: " + error.what());
    }
    bfloat16 = true;
    nb::object bits = object.attr("view")("uint16");
    if (PyObject_GetBuffer(bits.ptr(), &view_, PyBUF_RECORDS_RO) != 0) throw nb::python_error();
  }
  if (opaque_) {
    check_no_objects(view_.format, name);
  } else {
    buffer_.dtype = bfloat16 ? LACUNA_BF16 : dtype_of(view_.format, view_.itemsize, name);
  }
  if (!PyBuffer_IsContiguous(&view_, 'C')) not_contiguous(name);
  buffer_.data = view_.buf;
  element_size_ = static_cast<std::size_t>(view_.itemsize);
  buffer_.count = view_.itemsize > 0 ? static_cast<std::size_t>(view_.len / view_.itemsize) : 0;
  buffer_.memory = LACUNA_MEMORY_HOST;
  read_only_ = view_.readonly != 0;
  bool_ = view_.format && view_.format[0] == '?';
}

void Buffer::fill(const dlpack::Tensor& tensor, const char* name) {
  if (!is_contiguous(tensor)) not_contiguous(name);
  if (!opaque_) buffer_.dtype = dtype_of(tensor, name);
  bool_ = tensor.code == dlpack::Bool;
  element_size_ = std::size_t{tensor.bits} * tensor.lanes / 8;
  buffer_.count = 1;
  for (int i = 0; i < tensor.ndim; ++i) buffer_.count *= static_cast<std::size_t>(tensor.shape[i]);
  buffer_.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  buffer_.device = tensor.device_id;
  buffer_.stream = nullptr;  // the default stream, which __dlpack__() means if it is given none
  switch (tensor.device) {
    case dlpack::Cpu:
    case dlpack::CudaHost:
      buffer_.memory = LACUNA_MEMORY_HOST;
      break;
    case dlpack::Cuda:
      buffer_.memory = LACUNA_MEMORY_CUDA;
      break;
    case dlpack::CudaManaged:
      buffer_.memory = LACUNA_MEMORY_CUDA_MANAGED;
      break;
    default:
      fail(LACUNA_UNSUPPORTED, std::string(name) + " lies in the memory of DLPack's device type " +
                                   std::to_string(tensor.device) + "; allowed: that of the host and of CUDA");
  }
}

bool Buffer::take_by_exchange(nb::handle object, const char* name) {
  static PyObject* const attribute = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  nb::object capsule = nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())), attribute));
  if (!capsule.is_valid() || !PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
    PyErr_Clear();
    return false;
  }
  const auto* exchange =
      static_cast<const dlpack::Exchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (exchange->version.major != 1 || !exchange->tensor_from_object) return false;
  dlpack::Tensor tensor{};
  if (exchange->tensor_from_object(object.ptr(), &tensor) != 0) throw nb::python_error();
  fill(tensor, name);
  if (buffer_.memory != LACUNA_MEMORY_HOST && exchange->current_stream &&
      exchange->current_stream(tensor.device, tensor.device_id, &buffer_.stream) != 0) {
    throw nb::python_error();
  }
  owner_ = nb::borrow(object);
  return true;
}

void Buffer::take_by_dlpack(nb::handle object, const char* name) {
  if (!nb::hasattr(object, "__dlpack__")) {
    fail_type(name, object,
              "what has the buffer protocol or __dlpack__(), such as arrays of numpy and tensors of torch");
  }
  owner_ = capsule_of(object);  // it frees the tensor when it dies, because nobody renames it
  if (PyCapsule_IsValid(owner_.ptr(), "dltensor_versioned")) {
    const auto* versioned = static_cast<dlpack::Versioned*>(PyCapsule_GetPointer(owner_.ptr(), "dltensor_versioned"));
    if (versioned->version.major != 1) {
      fail(LACUNA_UNSUPPORTED,
           std::string(name) + " has version " + std::to_string(versioned->version.major) + " of DLPack; allowed: 1");
    }
    read_only_ = (versioned->flags & dlpack::read_only) != 0;
    fill(versioned->tensor, name);
    return;
  }
  const auto* managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(owner_.ptr(), "dltensor"));
  if (!managed) throw nb::python_error();
  fill(managed->tensor, name);
}

}  // namespace lacuna::python
