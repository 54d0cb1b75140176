#pragma once

#include <lacuna/lacuna.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace lacuna_c10d {

/// The ranks of one process group, as a job of lacuna. Several threads may use it.
class Job {
 public:
  /// Rank 0 puts an id into the store, by which all ranks join. Blocks until they have, or until the timeout.
  Job(c10d::Store& store, int rank, int size, std::chrono::milliseconds timeout);
  /// Leaves the job.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Throws if the group has been shut down or aborted.
  lacuna_communicator* communicator() const;
  /// Leaves the job, unless calls are still in flight: then this process stays in it until it ends.
  void close();

  /// Says that waits must end, because the group was aborted.
  void abort() { aborted_ = true; }
  bool aborted() const { return aborted_; }
  /// This process has joined; false in a child that it has made by fork().
  bool is_home() const { return getpid() == process_; }

  /// Takes over requests that may be in flight, and what they use. They stay until the process ends.
  void leave_behind(std::vector<lacuna_request*> requests, std::shared_ptr<void> used);

  /// Threads that are inside of a wait, and move messages meanwhile.
  std::atomic<int> waiting{0};

 private:
  std::atomic<lacuna_communicator*> communicator_{nullptr};
  std::atomic<bool> aborted_{false};
  std::atomic<bool> has_leftovers_{false};
  pid_t process_;
};

}  // namespace lacuna_c10d
