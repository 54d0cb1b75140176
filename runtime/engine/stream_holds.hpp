#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/device.hpp"

namespace lacuna::runtime {

/// A stream of the program waits for the end of a run.
struct StreamHold {
  std::uint32_t* cell = nullptr;     ///< in pinned memory; not 0 once the run has ended
  kernels::Event* passed = nullptr;  ///< by the stream, so that it reads the cell no more
  StreamHold* next = nullptr;        ///< of the same run
};

/// Makes streams of the program wait for the ends of runs. It takes memory and events once for each hold that exists at
/// a time. Thread rule: the owner locks.
class StreamHolds {
 public:
  explicit StreamHolds(kernels::Device& device) : device_(device) {}
  /// All runs have ended. Cells that a stream may still read stay until the process ends.
  ~StreamHolds();
  StreamHolds(const StreamHolds&) = delete;
  StreamHolds& operator=(const StreamHolds&) = delete;

  /// The work that enters the stream from now on begins after release() of this list of a run. Throws what the device
  /// throws, and changes nothing then.
  void hold(void* stream, StreamHold*& list);
  /// The streams go on.
  void release(StreamHold*& list) noexcept;

 private:
  void take_back();
  void make();

  kernels::Device& device_;
  std::vector<std::byte*> cells_;
  std::vector<std::unique_ptr<StreamHold>> all_;
  StreamHold* free_ = nullptr;
  StreamHold* released_ = nullptr;  ///< whose streams may still read their cells
};

}  // namespace lacuna::runtime
