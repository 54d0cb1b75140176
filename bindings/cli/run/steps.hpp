#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bindings/checkpoint/step_file.hpp"
#include "bindings/cli/run/work.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {

/// What one step was: a line of the file of steps.
struct StepNumbers {
  double figure = 0;  ///< what the workload has returned, such as a training loss
  double seconds = 0;
  double waited = 0;   ///< how many of these seconds were spent waiting for communication
  double payload = 0;  ///< bytes sent by one rank
};

/// Returns the numbers of steps one after the other, in the order of the members.
std::span<double> flat(std::vector<StepNumbers>& steps);

/// Measures what the steps of this rank cost.
class StepMeter {
 public:
  /// Both must outlive the meter.
  StepMeter(const Workload& workload, const Communicator& communicator);

  /// Returns the numbers of the step that has ended now and has begun when the last one ended.
  StepNumbers end_of_step(double figure);

 private:
  struct Reading {
    std::chrono::steady_clock::time_point time;
    std::chrono::nanoseconds waited{};
    std::uint64_t payload = 0;
  };
  Reading read() const;

  const Workload& workload_;
  const Communicator& communicator_;
  Reading last_;
};

/// The name of the file of a work's steps, which is in the folder of the work.
inline constexpr const char* step_file_name = "steps.h5";

/// Writes the file of a work's steps. Its columns are those of StepNumbers, means over the ranks. The file has places
/// for all steps, but not for more than the first 65,536 at first. When they are full, a file of twice the length
/// replaces it.
class StepLog {
 public:
  /// Makes the file. Of the `done` first steps it keeps what the file that is there says. The config must outlive the
  /// log.
  static Result<StepLog> make(const RunConfig& config, const Work& work, std::uint64_t steps, std::uint64_t done);

  /// Writes steps that follow the first `done` ones.
  Status write(std::uint64_t done, std::span<const double> numbers);

 private:
  StepLog(const RunConfig& config, const Work& work, std::uint64_t steps)
      : config_(&config), work_(work), steps_(steps) {}
  Status make_places(std::uint64_t needed, std::uint64_t done);

  const RunConfig* config_;
  Work work_;
  std::uint64_t steps_;
  std::uint64_t places_ = 0;
  std::optional<checkpoint::StepFile> file_;
};

}  // namespace lacuna::cli
