#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/communicator/communicator.hpp"
#include "runtime/engine/executor.hpp"
#include "tests/support/device_calls.hpp"
#include "transports/inproc.hpp"

namespace lacuna::test {

/// Which ranks make their calls on buffers of a device.
enum class OnDevice : std::uint8_t { None, Odd, All };

/// How the ranks of a test are made.
struct RanksOptions {
  InprocOptions network = {};
  runtime::ExecutorOptions executor = {};
  std::vector<Rank> hosts = {};  ///< the host of each rank; empty: all on one
  OnDevice devices = OnDevice::None;
  /// Makes what stands in the place of a rank's transport. Nothing: the transport itself stands there.
  std::function<std::unique_ptr<Transport>(Rank, std::unique_ptr<Transport>)> wrap = {};
  bool have_board = true;  ///< the ranks share a board if they are on one host
  bool have_bells = true;  ///< the board says where a rank is rung at
};

/// Executor options for tests: they share few cores, and a call that hangs should not take minutes.
runtime::ExecutorOptions quick_executor();

/// The ranks of a job in this process, each with an executor and a communicator, over memory.
class Ranks {
 public:
  explicit Ranks(Rank size, const RanksOptions& options = {.network = {}, .executor = quick_executor()});
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  Rank size() const { return static_cast<Rank>(executors_.size()); }
  runtime::Executor& executor(Rank rank) { return *executors_[static_cast<std::size_t>(rank)]; }
  runtime::Communicator& communicator(Rank rank) { return *communicators_[static_cast<std::size_t>(rank)]; }
  /// The traffic of one rank with all others.
  Counters counters(Rank rank);

  /// Posts a call with the algorithm that it names.
  Result<runtime::Run*> post(Rank rank, const Call& call);

  /// Makes one round of progress on every rank. Returns true if anything moved.
  bool sweep();
  /// Sweeps until `done`. Returns false if that does not happen and nothing can move any more.
  bool sweep_until(const std::function<bool()>& done);
  /// Sweeps until `done`, or until the time is over. It is for what waits for a deadline.
  bool sweep_for(std::chrono::milliseconds time, const std::function<bool()>& done);

  /// Posts calls[rank] on every rank, sweeps until all have ended, and returns the outcome of each rank. All this
  /// happens in one thread. If the calls can't end, all communicators are poisoned with a text that says what each rank
  /// waits for. `reports` gets what calls that ended well have reported.
  std::vector<Status> run(const std::vector<Call>& calls, std::vector<Report>* reports = nullptr);
  /// Posts on one rank and waits for the end. It is for tests with a thread for each rank.
  Status run_on(Rank rank, const Call& call);
  /// Calls body(rank) on a thread for each rank, and joins the threads.
  void each_in_thread(const std::function<void(Rank)>& body);

  /// What every unfinished run waits for, with a line for each.
  std::string waiting_for(const std::vector<runtime::Run*>& by_rank);

 private:
  std::vector<std::unique_ptr<runtime::Executor>> executors_;
  std::vector<std::unique_ptr<runtime::Communicator>> communicators_;
  std::vector<std::unique_ptr<DeviceCalls>> devices_;  ///< by rank; null: its buffers are the host's
};

}  // namespace lacuna::test
