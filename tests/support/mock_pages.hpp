#pragma once

namespace lacuna::test {

/// The memory of a mock device, which the host reaches only while it is open.
class DevicePages {
 public:
  virtual ~DevicePages() = default;
  virtual void open() = 0;
  virtual void close() = 0;
};

/// While this object lives, functors of mock_kernels() reach the memory that these pages are, on the calling thread.
class ComputeWith {
 public:
  explicit ComputeWith(DevicePages& pages);
  ~ComputeWith();
  ComputeWith(const ComputeWith&) = delete;
  ComputeWith& operator=(const ComputeWith&) = delete;
};

/// While this object lives, the pages that the calling thread computes with, if any, are open.
class OpenPages {
 public:
  OpenPages();
  ~OpenPages();
  OpenPages(const OpenPages&) = delete;
  OpenPages& operator=(const OpenPages&) = delete;
};

}  // namespace lacuna::test
