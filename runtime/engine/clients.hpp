#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/engine/client.hpp"
#include "runtime/engine/posted.hpp"
#include "runtime/values/clock.hpp"
#include "runtime/values/job_counters.hpp"

namespace lacuna::runtime {

/// The communicators that an executor serves, and what it remembers of those that have ended: how far they came, and
/// their counters.
/// Thread rule: the executor's lock guards all of it. Only posted() may be called without that lock.
class Clients {
 public:
  void add(Client& client);
  /// Takes the client out, and remembers how far it came and what it has counted.
  void retire(const Client& client, Reach last, const TickScale::Line& scale);

  /// The client of this id, or null.
  Client* find(std::uint64_t id) const;
  auto begin() const { return serving_.begin(); }
  auto end() const { return serving_.end(); }

  /// Returns how far each communicator came: first those that are served, then those that have ended, the youngest
  /// first.
  std::vector<Reach> reached() const;
  /// Returns what this rank has posted as this call, if it has posted it. Thread rule: any thread may call this. It
  /// never waits long.
  std::optional<Posted> posted(std::uint64_t id, std::uint32_t run) const;
  /// Returns the counters of all communicators.
  std::vector<CommunicatorCounters> counters(const TickScale::Line& scale) const;
  /// See Executor::restart_measures().
  void restart_measures();

 private:
  void remember(const Client& client, Reach last);

  mutable std::mutex told_;  // held to change serving_ or retired_, so that posted() does not need the executor's lock
  std::vector<Client*> serving_;
  std::deque<Reach> retired_;  // the youngest last
  std::vector<CommunicatorCounters> retired_counters_;
};

}  // namespace lacuna::runtime
