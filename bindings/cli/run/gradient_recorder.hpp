#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bindings/cpp/lacuna.hpp"
#include "bindings/workload/workload.hpp"

namespace lacuna::cli {

/// The options of `lacuna run` that say what is recorded.
struct RecordOptions {
  std::filesystem::path file;  ///< empty: nothing is recorded
  std::uint64_t every = 1;     ///< every how many steps; the first step is recorded
};

/// Writes what each rank hands to its gradient allreduces to a file for `lacuna replay`. All ranks make the same calls.
class GradientRecorder {
 public:
  /// What the file belongs to. Only a run with equal members continues the file.
  struct Run {
    std::string values;       ///< what the work depends on; see Work::values
    std::uint64_t steps = 0;  ///< how many steps there will be
  };

  /// The communicator must outlive the recorder.
  GradientRecorder(Communicator& communicator, RecordOptions options, Run run);

  /// Is called before the work begins. Makes sure that the file can be made, or continued. With `fresh` it removes a
  /// file of an earlier run like this one.
  Status prepare(bool fresh);
  bool wants(std::uint64_t step) const { return step % options_.every == 0; }
  /// After `step` steps, returns how many will be done when the next step that is recorded has ended.
  std::uint64_t next_stop(std::uint64_t step) const;
  /// Returns the function for Task::tap. It must not be called after the end of this recorder.
  GradientTap tap();
  /// Says that a step begins.
  void begin(std::uint64_t step);
  /// Writes the step that has ended, if it is to be recorded. It must be called outside of what is measured, so that
  /// nothing of it counts as the run's communication.
  Status finish(std::uint64_t step);

 private:
  struct Tensor {
    std::string name;
    Dtype dtype = Dtype::F32;
    std::size_t count = 0;
    std::vector<std::byte> bytes;
  };

  void take(const StateItem& gradient, Rank ranks);
  std::vector<StateItem> items();
  Status check_tensors();
  Status make_file();

  Communicator& communicator_;
  RecordOptions options_;
  Run run_;
  bool recording_ = false;
  bool has_file_ = false;
  Status refused_;  // why the gradients can't be recorded
  std::vector<Tensor> tensors_;
  std::size_t taken_ = 0;
};

}  // namespace lacuna::cli
