#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bindings/cpp/lacuna.hpp"
#include "bindings/cpp/state.hpp"

namespace lacuna {

/// One way to communicate; a run of the `lacuna` command compares several on the same work.
struct MethodChoice {
  std::string label{};      ///< its name in tables and files
  std::string algorithm{};  ///< of the allreduce; empty: lacuna chooses
  MethodOptions options{};  ///< of the gradients; what belongs to a tensor is left to the workload
};

/// Is shown what a rank hands to the allreduce of one of its gradients, before that begins, and by how many ranks it is
/// reduced. The data are there for the call only; names are the same in all steps.
using GradientTap = std::function<void(const StateItem& gradient, Rank ranks)>;

/// What a workload is asked to do from its first step to its last. Equal on all ranks.
struct Task {
  MethodChoice method;
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  GradientTap tap{};  ///< empty: nobody looks
};

/// A number that says how good the state reached is.
struct Metric {
  std::string name;  ///< a word such as "test_accuracy"
  double value = 0;
  bool percent = false;  ///< people are shown 100 times the value and "%"
};

struct Metrics {
  std::vector<Metric> values;     ///< the first one stands in tables
  std::uint64_t fingerprint = 0;  ///< of the bits of the state that the ranks share
  std::vector<Metric> details{};  ///< for the result file only; other methods may have others
};

/// Something that `lacuna run` trains or solves. All ranks call the same functions in the same order, from one thread.
/// Between two steps a workload is described wholly by its task, the number of steps done and state(): saving the
/// items and, in another process, set_up() with the same task and filling them again continues bit for bit.
class Workload {
 public:
  virtual ~Workload() = default;

  /// Reads what the work needs from files, once, before all else. Makes no calls to other ranks; the caller sees to it
  /// that all ranks have succeeded before any goes on.
  virtual Status load() = 0;
  /// Steps of one epoch on that many ranks; an error if there is too little data for one step.
  virtual Result<std::uint64_t> steps_per_epoch(Rank ranks) const = 0;
  /// Returns to the state before step 0. The communicator must outlive the task. May be called again for another task.
  virtual Status set_up(Communicator& communicator, const Task& task) = 0;
  /// Carries out step number `step`, 0 <= step < task.steps. Returns this rank's figure for the progress display: a
  /// loss or a residual.
  virtual Result<double> step(std::uint64_t step) = 0;
  /// How good the present state is: equal on all ranks. An error if ranks that must hold equal bits do not.
  virtual Result<Metrics> evaluate() = 0;
  /// What a checkpoint must save. The items stay valid until the next set_up().
  virtual std::vector<StateItem> state() = 0;
  /// To be called after the items of state() have been filled. An error if they cannot be such a state.
  virtual Status restored() { return {}; }
  /// Time that this rank has spent in steps waiting for communication since set_up().
  virtual std::chrono::nanoseconds waited() const = 0;
};

}  // namespace lacuna
