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
  std::filesystem::path file;  ///< empty: nothing
  std::uint64_t every = 1;     ///< steps; the first one is recorded
};

/// Writes what each rank hands to its gradient allreduces to a file for `lacuna replay`. All ranks make the same calls.
class GradientRecorder {
 public:
  /// What the file belongs to: only a run that says the same goes on with it.
  struct Run {
    std::string values;       ///< of the config
    std::uint64_t steps = 0;  ///< that there will be
  };

  /// The communicator must outlive the recorder.
  GradientRecorder(Communicator& communicator, RecordOptions options, Run run);

  /// Before the work begins: sees to it that the file can be made, or continued. With `fresh`, a file of an earlier run
  /// like this one is removed.
  Status prepare(bool fresh);
  bool wants(std::uint64_t step) const { return step % options_.every == 0; }
  /// After `step` steps: how many will be done when the next one that it wants has ended.
  std::uint64_t next_stop(std::uint64_t step) const;
  /// For Task::tap; it is called before the end of this recorder only.
  GradientTap tap();
  /// A step begins.
  void begin(std::uint64_t step);
  /// Writes the step that has ended, if it is wanted. Nothing of it is counted as the run's communication: to be called
  /// outside of what is measured.
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
  Status refused_;  // why what was taken can't be recorded
  std::vector<Tensor> tensors_;
  std::size_t taken_ = 0;
};

}  // namespace lacuna::cli
