#pragma once

#include "kernels/backend.hpp"

namespace lacuna::test {

/// The memory of a mock device, which the host reaches only while it is open.
class DevicePages {
 public:
  virtual ~DevicePages() = default;
  virtual void open() = 0;
  virtual void close() = 0;
};

/// The kernels of all mock devices. Only their functors reach the memory of the device whose pages these are. Thread
/// rule: any thread.
const kernels::Backend& mock_kernels();

/// While this object lives, mock_kernels() computes with these pages on the calling thread.
class ComputeWith {
 public:
  explicit ComputeWith(DevicePages& pages);
  ~ComputeWith();
  ComputeWith(const ComputeWith&) = delete;
  ComputeWith& operator=(const ComputeWith&) = delete;
};

/// While this object lives, the pages that the calling thread computes with are open.
class OpenPages {
 public:
  OpenPages();
  ~OpenPages();
  OpenPages(const OpenPages&) = delete;
  OpenPages& operator=(const OpenPages&) = delete;
};

}  // namespace lacuna::test
