#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bindings/cpp/lacuna.hpp"
#include "bindings/cpp/state.hpp"

namespace lacuna {

/// One way to communicate. A run of the `lacuna` command compares several on the same work.
struct MethodChoice {
  std::string label{};      ///< its name in tables and files
  std::string algorithm{};  ///< the algorithm of the allreduce; empty: lacuna chooses
  MethodOptions options{};  ///< the method of the gradients; the workload adds what belongs to a tensor
  std::string only{};  ///< the tensor whose gradient it is for, all others are averaged densely; empty: all tensors
  bool lists = false;  ///< gradients are handed over as lists of entries where Workload::has_lists() says so
};

/// A function that gets what a rank hands to the allreduce of one of its gradients, before the call starts, and how
/// many ranks it is reduced over. The data are there only during this function. Names are the same in all steps.
using GradientTap = std::function<void(const StateItem& gradient, Rank ranks)>;

/// What a workload is asked to do from its first step to its last. It is equal on all ranks.
struct Task {
  MethodChoice method;
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  GradientTap tap{};  ///< empty: gradients are shown to nobody
};

/// A gradient of f32 that all ranks average together in each step.
struct GradientShape {
  std::string name;
  std::size_t count = 0;    ///< elements
  bool with_method = true;  ///< by the task's method; else densely
};

/// A number that says how good the state is.
struct Metric {
  std::string name;  ///< a word such as "test_accuracy"
  double value = 0;
  bool percent = false;        ///< people are shown 100 times the value and "%"
  std::string unit = "ratio";  ///< "ratio": a number without a unit
  std::string description{};   ///< what it is, in a few words, for readers of result files
};

struct Metrics {
  std::vector<Metric> values;     ///< the first one stands in tables
  std::uint64_t fingerprint = 0;  ///< stands for the bits of the state that the ranks share
  std::vector<Metric> details{};  ///< for the result file only; they may differ between methods
};

/// Something that `lacuna run` trains or solves. All ranks call the same functions in the same order, from one thread.
/// Between two steps its task, the number of steps done and state() describe a workload wholly. A program may save the
/// items, call set_up() with the same task in another process, and fill the items again: then the workload continues
/// with the same bits.
class Workload {
 public:
  virtual ~Workload() = default;

  /// Reads what the work needs from files, once, before all else. It calls no other rank. The caller makes sure that
  /// all ranks have succeeded before any goes on.
  virtual Status load() = 0;
  /// Returns the names of the tensors of which MethodChoice::only may name one. It may be called before load().
  virtual std::vector<std::string> tensors() const { return {}; }
  /// Does it average gradients, on which a method can act? It may be called before load().
  virtual bool has_gradients() const { return true; }
  /// Are there gradients that it can hand over as lists of entries? It may be called before load().
  virtual bool has_lists() const { return false; }
  /// Does it go through data again and again, so that its steps make epochs? It may be called before load().
  virtual bool has_epochs() const { return true; }
  /// Returns after how many steps its state is evaluated on that many ranks: those of one epoch, if it has any. It is
  /// an error if there are too few data for one step.
  virtual Result<std::uint64_t> steps_per_epoch(Rank ranks) const = 0;
  /// Does a step depend on Task::steps, as with a learning rate that falls to zero at the last one? Otherwise a task
  /// can be continued to more steps than it had at first. It may be called before load().
  virtual bool depends_on_steps() const { return false; }
  /// Returns the gradients of each step of such a task, in no order, for predictions of what it sends. Returns none if
  /// that is not known before set_up().
  virtual std::vector<GradientShape> gradients(const Task&) const { return {}; }
  /// Returns to the state before step 0. The communicator must outlive the task. It may be called again for another
  /// task.
  virtual Status set_up(Communicator& communicator, const Task& task) = 0;
  /// Carries out step number `step`, 0 <= step < task.steps. Returns this rank's figure for the progress display: a
  /// loss or a residual.
  virtual Result<double> step(std::uint64_t step) = 0;
  /// Returns the name of this figure.
  virtual std::string figure_name() const { return "training_loss"; }
  /// Returns how good the present state is, equal on all ranks. It is an error if ranks that must hold equal bits do
  /// not.
  virtual Result<Metrics> evaluate() = 0;
  /// Returns what a checkpoint must save. The items stay valid until the next set_up().
  virtual std::vector<StateItem> state() = 0;
  /// Is called after the items of state() have been filled. It is an error if they cannot be such a state.
  virtual Status restored() { return {}; }
  /// Returns the time that this rank has waited for communication in steps since set_up().
  virtual std::chrono::nanoseconds waited() const = 0;
};

}  // namespace lacuna
