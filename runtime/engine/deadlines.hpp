#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/engine/clients.hpp"
#include "runtime/engine/duties.hpp"
#include "runtime/engine/executor_options.hpp"
#include "runtime/engine/failures.hpp"
#include "transports/transport.hpp"

namespace lacuna::runtime {

/// Watches the deadlines of unfinished runs, and connections that they need. It reports which runs are late or stand
/// still, and why. Its owner locks.
class Deadlines {
 public:
  /// Ends a message that this rank alone gives up.
  using End = std::function<void(MessageRun& run, const Status& status)>;

  /// All that the arguments refer to must outlive the object.
  Deadlines(const ExecutorOptions& options, Rank rank, Rank size, const Transport& transport,
            const Clients& communicators, Failures& failures);

  /// The run begins now. Its deadline counts from here.
  void begin(Run& run);
  void end() { duties_.end_run(); }
  bool has_runs() const { return duties_.has_runs(); }
  /// Something has moved. Returns true once in a while: then look() must be called although things keep moving.
  bool note_movement() { return duties_.note_movement(); }
  /// A connection is broken. What needs it has a while to end nevertheless.
  void note_broken(Rank peer, const Status& why);
  /// Returns the next time at which look() may have something to do.
  Clock::time_point next() const { return duties_.next(); }
  /// Looks at all unfinished runs, if it is time. Returns true if it has, so that some may have to fail.
  bool look(const End& end);
  /// Returns how often nothing has moved for too long.
  std::uint64_t stalls() const { return stalls_; }

 private:
  struct Broken {
    Clock::time_point reported_at;
    Status why;
  };

  void check_calls(Client& communicator, Clock::time_point now, bool stalled);
  void check_connections(Client& communicator, CollectiveRun& first, Clock::time_point now);
  void check_messages(Client& communicator, Clock::time_point now, bool stalled, const End& end);
  Rank find_broken(const MessageRun& run) const;
  bool note_lateness(Run& run, Clock::time_point now) const;
  void report_stall(Client& communicator, const CollectiveRun& run, Clock::time_point now);
  std::vector<Wait> waits_of(const Client& communicator) const;

  const ExecutorOptions& options_;
  const Rank rank_;
  const Transport& transport_;
  const Clients& communicators_;
  Failures& failures_;
  Duties duties_;
  std::vector<std::optional<Broken>> broken_;  // by process
  std::uint64_t stalls_ = 0;
};

}  // namespace lacuna::runtime
