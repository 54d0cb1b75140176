#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bindings/python/module/operation.hpp"

namespace lacuna::python {

/// A call in flight, prepared, or ended, as Python sees it. One thread uses it at a time.
class Request {
 public:
  explicit Request(std::unique_ptr<Operation> operation);
  ~Request() { drop(std::move(operation_)); }

  void start();
  bool test();
  Report wait(nb::handle timeout);
  /// A stream of the program, a cudaStream_t, waits for the end.
  void hold_stream(std::uintptr_t stream);
  nb::list gaps(int rank);
  nb::object communicator() const { return operation_->communicator; }

 private:
  friend class Entry;
  friend struct Waits;
  /// Learns the outcome of an operation that has ended, once.
  void settle();

  std::unique_ptr<Operation> operation_;
  bool started_;          // once; else it is prepared only
  bool settled_ = false;  // its outcome is known
  Report report_;
  lacuna_status status_ = LACUNA_OK;
  std::string text_;
};

void bind_requests(nb::module_& module);

}  // namespace lacuna::python
