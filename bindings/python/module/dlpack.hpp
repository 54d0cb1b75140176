#pragma once

#include <cstdint>

/// The structures of DLPack 1.3 that its users read, laid out as its specification says.
namespace lacuna::python::dlpack {

struct Version {
  std::uint32_t major, minor;
};

enum Device : std::int32_t { Cpu = 1, Cuda = 2, CudaHost = 3, CudaManaged = 13 };

enum Code : std::uint8_t { Int = 0, UInt = 1, Float = 2, Bfloat = 4, Complex = 5, Bool = 6 };

struct Tensor {
  void* data;
  std::int32_t device, device_id;
  std::int32_t ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: without spaces
  std::uint64_t byte_offset;
};

struct Managed {  ///< of a capsule "dltensor"
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

struct Versioned {  ///< of a capsule "dltensor_versioned"
  Version version;
  void* context;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  Tensor tensor;
};

constexpr std::uint64_t read_only = 1;  ///< of Versioned::flags

struct Exchange {  ///< of a capsule "dlpack_exchange_api"
  Version version;
  Exchange* older;
  void *allocate, *managed_from_object, *managed_to_object;
  int (*tensor_from_object)(void* object, Tensor* tensor);  ///< the object keeps the memory; may be null
  /// That of the program on a device; its memory is ready after the work in there. Returns 0, or -1 with an error.
  int (*current_stream)(std::int32_t device, std::int32_t device_id, void** stream);
};

}  // namespace lacuna::python::dlpack
