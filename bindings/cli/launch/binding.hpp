#pragma once

#include <filesystem>
#include <span>
#include <vector>

namespace lacuna::cli {

/// Numbers of processors, as the system counts them.
using Processors = std::vector<int>;

/// Returns the processors that this thread may run on, in ascending order.
Processors processors_of_thread();

/// Groups processors by their cores. Neighbouring cores are of one package. `root` is /sys/devices/system/cpu. A
/// processor whose core the system does not tell is a core of its own.
std::vector<Processors> cores_of(const Processors& processors, const std::filesystem::path& root);

/// Shares processors out to the ranks of a host, so that no two ranks have the same one. Each gets neighbouring cores.
/// Only if there are fewer cores than ranks do ranks share a core. Returns nothing if there are fewer processors than
/// ranks.
std::vector<Processors> shares_of(const std::vector<Processors>& cores, int ranks);

/// Lets this thread run only on these processors while this object lives. Processes that the thread starts meanwhile
/// stay there.
class BoundTo {
 public:
  explicit BoundTo(const Processors& processors);
  ~BoundTo();
  BoundTo(const BoundTo&) = delete;
  BoundTo& operator=(const BoundTo&) = delete;

  /// Has the system agreed?
  bool is_bound() const { return is_bound_; }

 private:
  Processors before_;
  bool is_bound_;
};

}  // namespace lacuna::cli
