#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/values/collective.hpp"
#include "runtime/values/counters.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/report.hpp"

namespace lacuna {

/// Calls of one kind on one communicator, as one rank counts them.
struct CallCounters {
  std::uint64_t started = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  double seconds = 0;  ///< from the start to the end of each call, added up over those that have ended

  CallCounters& operator+=(const CallCounters& other) {
    started += other.started;
    completed += other.completed;
    failed += other.failed;
    seconds += other.seconds;
    return *this;
  }
};

/// Calls with one method that have ended well, as one rank counts them; see Report. All but `measures` is of those
/// calls that have left anything out.
struct MethodCounters {
  const Method* method = nullptr;
  std::uint64_t calls = 0;
  std::uint64_t rounds_saved = 0;
  std::uint64_t sent = 0, dense_sent = 0;  ///< payload, bytes: of these calls, and of the dense ones in their place
  std::uint64_t left_out = 0;              ///< contributions: elements times ranks
  std::uint64_t contributions = 0;         ///< of the dense calls
  MeasureValues measures{};                ///< the method's own, of all calls

  std::int64_t bytes_saved() const { return static_cast<std::int64_t>(dense_sent - sent); }
  MethodCounters& operator+=(const MethodCounters& other) {
    calls += other.calls;
    rounds_saved += other.rounds_saved;
    sent += other.sent;
    dense_sent += other.dense_sent;
    left_out += other.left_out;
    contributions += other.contributions;
    measures.add(other.measures);
    return *this;
  }
};

/// The counters of this method. If there are none yet, they are put behind the others.
inline MethodCounters& counters_of(std::vector<MethodCounters>& all, const Method& method) {
  for (MethodCounters& one : all) {
    if (one.method == &method) return one;
  }
  return all.emplace_back(MethodCounters{.method = &method});
}

struct CommunicatorCounters {
  std::uint64_t id = 0;  ///< equal on all its ranks; 0: earlier communicators, together
  Rank rank = 0;         ///< in it; -1 for earlier ones, together
  Rank size = 0;
  std::array<CallCounters, all_collectives.size()> calls{};  ///< by Collective
  CallCounters sends{};                                      ///< point-to-point
  CallCounters receives{};
  std::vector<MethodCounters> methods{};

  CommunicatorCounters& operator+=(const CommunicatorCounters& other) {
    for (std::size_t i = 0; i < calls.size(); ++i) calls[i] += other.calls[i];
    sends += other.sends;
    receives += other.receives;
    for (const MethodCounters& one : other.methods) counters_of(methods, *one.method) += one;
    return *this;
  }
};

/// What one rank has done in its job since it joined. All figures but `waiting_messages` only grow.
struct JobCounters {
  Rank rank = 0;
  Rank size = 0;
  std::string host{};
  std::vector<CommunicatorCounters> communicators{};  ///< those that have ended first
  std::vector<Counters> peers{};                      ///< traffic with each rank of the job
  double wait_seconds = 0;                            ///< that callers spent waiting, added up over their threads
  std::uint64_t parked_messages = 0;                  ///< received before their step could take them
  std::uint64_t parked_bytes = 0;                     ///< of these, what had to be kept in memory of lacuna's
  std::uint64_t waiting_messages = 0;                 ///< parked now
  std::uint64_t duplicate_fragments = 0;              ///< received a second time, and dropped
  std::uint64_t descriptor_messages = 0;  ///< sent, but fetched by their receiver: it had granted no credit for them
  std::uint64_t stalls = 0;  ///< times that nothing moved for LACUNA_STALL while a call or a message was unfinished

  /// Of all communicators, by method.
  std::vector<MethodCounters> methods() const {
    std::vector<MethodCounters> all;
    for (const CommunicatorCounters& one : communicators) {
      for (const MethodCounters& counted : one.methods) counters_of(all, *counted.method) += counted;
    }
    return all;
  }
};

/// A text form of JobCounters. The numbers are part of the C API.
enum class CountersFormat : std::uint8_t {
  Json = 0,        ///< one object
  Prometheus = 1,  ///< Prometheus' text exposition format, version 0.0.4
};

}  // namespace lacuna
