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
  double seconds = 0;  ///< from the start of each call to its end, added up over the calls that have ended

  CallCounters& operator+=(const CallCounters& other) {
    started += other.started;
    completed += other.completed;
    failed += other.failed;
    seconds += other.seconds;
    return *this;
  }
};

/// Calls with one method that have ended without an error, as one rank counts them; see Report. All members but
/// `measures` count only the calls that have left something out.
struct MethodCounters {
  const Method* method = nullptr;
  std::uint64_t calls = 0;
  std::uint64_t rounds_saved = 0;
  std::uint64_t sent = 0, dense_sent = 0;  ///< payload in bytes: of these calls, and of dense calls in their place
  std::uint64_t left_out = 0;              ///< contributions that are missing in sums: elements times ranks
  std::uint64_t contributions = 0;         ///< contributions that the dense calls would have
  MeasureValues measures{};                ///< the method's own measures, of all its calls

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

/// The counters of this method. If there are none yet, they are added at the end.
inline MethodCounters& counters_of(std::vector<MethodCounters>& all, const Method& method) {
  for (MethodCounters& one : all) {
    if (one.method == &method) return one;
  }
  return all.emplace_back(MethodCounters{.method = &method});
}

/// What one rank has done in one communicator.
struct CommunicatorCounters {
  std::uint64_t id = 0;  ///< equal on all ranks of the communicator; 0: all communicators that are gone, added up
  Rank rank = 0;         ///< the rank in the communicator; -1 for those that are gone
  Rank size = 0;
  std::array<CallCounters, all_collectives.size()> calls{};  ///< of each collective, by its number
  CallCounters sends{};                                      ///< messages to one rank
  CallCounters receives{};                                   ///< messages from one rank
  std::vector<MethodCounters> methods{};

  CommunicatorCounters& operator+=(const CommunicatorCounters& other) {
    for (std::size_t i = 0; i < calls.size(); ++i) calls[i] += other.calls[i];
    sends += other.sends;
    receives += other.receives;
    for (const MethodCounters& one : other.methods) counters_of(methods, *one.method) += one;
    return *this;
  }
};

/// What one rank has done in its job since it joined. All figures only grow, except `waiting_messages`.
struct JobCounters {
  Rank rank = 0;
  Rank size = 0;
  std::string host{};
  std::vector<CommunicatorCounters> communicators{};  ///< first those that are gone, added up
  std::vector<Counters> peers{};                      ///< traffic with each rank of the job
  double wait_seconds = 0;                            ///< time for which callers waited, added up over their threads
  /// The part of wait_seconds that a progress thread might have saved. It is at most as long as callers were elsewhere
  /// before the wait, while calls were unfinished and nobody made progress. 0 with a progress thread.
  double overlappable_seconds = 0;
  std::uint64_t parked_messages = 0;      ///< messages that came before their step could take them
  std::uint64_t parked_bytes = 0;         ///< bytes of parked messages that lacuna had to store meanwhile
  std::uint64_t waiting_messages = 0;     ///< messages that are parked at the moment
  std::uint64_t duplicate_fragments = 0;  ///< fragments that came a second time and were dropped
  /// Messages that this rank has sent as descriptors, as their receiver had granted no credit for them.
  std::uint64_t descriptor_messages = 0;
  /// Messages that this rank has sent and that their receiver reads where they lie, in memory that it has mapped.
  std::uint64_t mapped_messages = 0;
  /// Bytes of messages that lie on a device and were copied to or from pinned memory, because the transport takes no
  /// memory of the device.
  std::uint64_t staged_bytes = 0;
  std::uint64_t stalls = 0;  ///< times that nothing moved for LACUNA_STALL while a call or a message was unfinished

  /// The counters of each method, added up over all communicators.
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
  Json = 0,        ///< a JSON object
  Prometheus = 1,  ///< Prometheus' text exposition format, version 0.0.4
};

}  // namespace lacuna
