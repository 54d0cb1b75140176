#pragma once

#include <lacuna/lacuna.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "job.hpp"
#include "task.hpp"

namespace lacuna_c10d {

/// Starts a call of lacuna, such as lacuna_execute().
using Starter = std::function<lacuna_status(const lacuna_options& options, lacuna_request** request)>;

/// One or several calls of lacuna that end together. Any thread may wait for it, and several may. Whoever finds first
/// that all calls have ended copies the results and completes the future. getTimeout() overrides a method since PyTorch
/// 2.14.
class Work final : public c10d::Work {
 public:
  Work(std::shared_ptr<Job> job, int rank, std::uint64_t sequence, Task task);
  /// Calls that still run go on, with their memory, until the process ends.
  ~Work() override;

  /// Starts the calls, once, and returns how many were started. If one can't be started, the Work fails when those
  /// before it have ended. If the first one can't, this throws.
  std::size_t start(const std::vector<Starter>& calls, const lacuna_options& options);
  /// Looks whether all calls have ended, and ends the Work if so. Does not wait. Returns whether complete_future() must
  /// follow, which runs callbacks of the program.
  bool poll();
  /// Completes the future of a Work that has ended.
  void complete_future();
  /// Ends the Work with an error, while its calls go on.
  void fail(const std::string& text);

  bool isCompleted() override;
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override {}
  void abort() override { fail("the call was aborted"); }
  int sourceRank() const override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  std::uint64_t getSequencenumber() const override { return sequence_; }
  std::chrono::milliseconds getTimeout() const { return task_->timeout; }

 private:
  bool is_told();
  bool move(double seconds);
  void wait_for(double seconds);
  bool conclude(std::unique_lock<std::mutex> turn);
  void run_endings();
  bool tell(const std::exception_ptr& failure);

  std::mutex turn_;  // one thread at a time uses the requests
  std::shared_ptr<Job> job_;
  std::shared_ptr<Task> task_;
  std::vector<lacuna_request*> requests_;
  std::size_t ended_ = 0;          // requests that have ended
  std::exception_ptr failure_;     // of the first call that has failed
  bool concluded_ = false;         // all have ended, and the results are in place
  std::atomic<bool> told_{false};  // waiters have the outcome, or get it
  int source_ = -1;
  const std::uint64_t sequence_;
  std::mutex future_mutex_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;  // null until somebody asks for it
  bool has_outcome_ = false;                        // which the future gets
};

}  // namespace lacuna_c10d
