#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/cli/perf/perf.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "kernels/device.hpp"
#include "runtime/values/mappable_heap.hpp"
#include "runtime/values/memory.hpp"

namespace lacuna::cli {

/// A large allreduce that is always in flight, on a communicator of its own.
class Background {
 public:
  /// Makes it. All ranks call this.
  static Result<std::unique_ptr<Background>> make(Communicator& communicator, std::size_t bytes);
  Background(Communicator communicator, std::size_t bytes)
      : communicator_(std::move(communicator)), data_(bytes / sizeof(float)) {}

  /// Starts the next allreduce if the last one has ended.
  Status keep_in_flight();
  int started() const { return started_; }
  /// All ranks start as many allreduces as the rank that started most, and wait for them.
  Status finish(Communicator& communicator);

 private:
  Communicator communicator_;
  std::vector<float> data_;
  Request request_;
  int started_ = 0;
};

/// Does the algorithm of this name serve the method of --method? If the name is empty, does any? An algorithm that is
/// given by its own name is dense if others are given by the names that they have with the method.
bool serves(const PerfOptions& options, std::string_view algorithm);

/// The buffers of what is measured, and how it is started.
struct Bench {
  Communicator& communicator;
  const PerfOptions& options;
  std::string algorithm{};
  std::size_t count = 0;
  std::optional<Pattern> pattern{};  ///< where the inputs are not zero
  bool in_place = false;
  Sampler sampler{};
  MethodState state{};                ///< new for each size, and for each check
  kernels::Device* device = nullptr;  ///< where the buffers lie; null: on the host
  MemoryBlock input{}, output{};
  MemoryBlock original{};  ///< the input, if is_overwritten()
  std::vector<std::size_t> block_counts{};
  std::size_t entries = 0;  ///< how many elements of the input are not zero
  Background* background = nullptr;

  /// The memory of the buffers.
  MemorySpace& space() const {
    if (device) return device->memory();
    return options.mapped ? MappableHeap::of_process() : host_memory();
  }
  Memory memory() const;
  /// Returns a copy of this call's output, for the host.
  std::vector<std::byte> output_of(const Call& now) const;
  /// Returns the call. For messages it is the broadcast that would bring a rank what it receives.
  Call call();
  /// Puts the inputs where the call will read them.
  Status prepare();
  /// Does a call leave inputs that do not follow the pattern, because it writes its result there?
  bool is_overwritten() const { return in_place && pattern.has_value(); }
  /// Makes the call so many times, and returns how many seconds one takes. If it overwrites its input, each finds the
  /// input that prepare() has made.
  Result<double> time_rounds(int rounds);
  /// Makes the call, or exchanges the messages, with `operations` of them in flight at a time.
  Status round(const Call& now, int operations);
  /// Makes the call once. `report` says what it has left out.
  Status round(const Call& now, Report& report);

 private:
  Rank neighbour(Rank distance) const;
  Status start(const Call& now, std::vector<Request>& requests);
};

}  // namespace lacuna::cli
