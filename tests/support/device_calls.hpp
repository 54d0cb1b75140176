#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/engine/run.hpp"
#include "tests/support/test_device.hpp"

namespace lacuna::test {

/// Makes the calls of a rank on buffers of its device. The device's buffers get the content of the call's own buffers
/// late, in the stream that the call names. Once the call has ended, its own buffers get the results.
class DeviceCalls {
 public:
  explicit DeviceCalls(TestDevice& device) : device_(device) {}
  ~DeviceCalls();
  DeviceCalls(const DeviceCalls&) = delete;
  DeviceCalls& operator=(const DeviceCalls&) = delete;

  /// Returns the call on buffers of the device.
  Call moved(const Call& call, Rank rank, Rank size);
  /// The call of the last moved() has become this run. Null: it was refused.
  void note_run(const runtime::Run* run);
  /// Takes the results of calls that have ended to their own buffers. It ends the process if a call has changed its
  /// input, or has written beside its output.
  void bring_back();
  /// Nothing moves on the host.
  void idle() { device_.idle(); }

 private:
  /// A piece of the program's memory, and its copy on the device.
  struct Piece {
    std::byte* own = nullptr;
    std::size_t bytes = 0;
    bool written = false;
    std::vector<std::byte> before;
    std::byte* block = nullptr;  ///< of the device, with guards around the copy
    std::size_t block_bytes = 0;
    std::byte* copy = nullptr;  ///< what the call uses
  };
  struct Pending {
    const runtime::Run* run = nullptr;
    std::vector<std::unique_ptr<Piece>> pieces;
  };

  template <class T>
  void move(Pending& to, T*& pointer, std::size_t bytes, bool written);
  void give_back(Pending& pending, bool with_results);

  TestDevice& device_;
  std::vector<Pending> pending_;
};

}  // namespace lacuna::test
