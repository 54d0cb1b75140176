#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "runtime/engine/run.hpp"

namespace lacuna::runtime {

/// The runs of a communicator's last calls, each with its plan and its part as its call has left them. Programs make
/// the same call again and again. The next call that is alike takes such a run, and starts as a prepared call does.
/// Thread rule: the executor's lock guards all of it.
class KeptCalls {
 public:
  static constexpr std::size_t places = 16;  ///< so many runs are kept at most

  /// May the run of this call be kept? It may if the call is described by what are_alike() compares.
  static bool may_keep(const Call& call) {
    const Options& options = call.options;
    return call.memory.kind == MemoryKind::Host && call.reduction != Reduction::Own && !has_tables(call.collective) &&
           !has_entries(call) && !options.method && !options.state && !options.sampler;
  }

  /// Returns the run of a call that is alike, or null. The call must be one that may be kept.
  CollectiveRun* find(const Call& call) const {
    for (CollectiveRun* run : runs_) {
      if (run && are_alike(run->call, call)) return run;
    }
    return nullptr;
  }
  /// Takes out a run that find() has returned.
  void take(const CollectiveRun& run) { *std::find(runs_.begin(), runs_.end(), &run) = nullptr; }
  /// Keeps a run that may be kept and is laid out. Returns the run that has to leave for it, or null.
  CollectiveRun* keep(CollectiveRun& run) {
    const auto unused = std::find(runs_.begin(), runs_.end(), nullptr);
    return std::exchange(unused != runs_.end() ? *unused : runs_[next_++ % runs_.size()], &run);
  }
  /// Takes out any run, or returns null.
  CollectiveRun* take_any() {
    const auto one = std::find_if(runs_.begin(), runs_.end(), [](const CollectiveRun* run) { return run; });
    return one == runs_.end() ? nullptr : std::exchange(*one, nullptr);
  }

 private:
  static bool are_alike(const Call& a, const Call& b) {
    return a.input == b.input && a.output == b.output && a.count == b.count && a.collective == b.collective &&
           a.dtype == b.dtype && a.reduction == b.reduction && a.root == b.root &&
           a.options.algorithm == b.options.algorithm;
  }

  std::array<CollectiveRun*, places> runs_{};
  std::size_t next_ = 0;  // the next one to leave when all places are taken
};

}  // namespace lacuna::runtime
