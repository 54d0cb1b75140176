#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/engine/pool.hpp"
#include "runtime/engine/run.hpp"
#include "transports/transport.hpp"

namespace lacuna::runtime {

struct Stage;

/// A step of an active part.
struct StepOf {
  ActivePart* part = nullptr;
  StepId step = 0;
};

/// A descriptor whose bytes a started step wants.
struct Fetch {
  StepOf step;
  std::size_t offset = 0;
  Descriptor descriptor;
};

/// A send that waits for its turn on the wire.
struct Sending {
  StepOf step;
  Stage* stage = nullptr;  ///< the range that is sent; null: all that the transport has not been given
};

/// One queue for each priority class.
template <class T>
class Lanes {
 public:
  void push(Priority priority, T value) { lanes_[static_cast<std::size_t>(priority)].push(std::move(value)); }

  void reserve(Priority priority, std::size_t more) { lanes_[static_cast<std::size_t>(priority)].reserve(more); }

  /// Returns the lane that comes next, or null if all are empty.
  Fifo<T>* next() {
    for (auto& lane : lanes_) {
      if (!lane.empty()) return &lane;
    }
    return nullptr;
  }
  template <class Predicate>
  void remove_if(Predicate matches) {
    for (auto& lane : lanes_) lane.remove_if(matches);
  }

 private:
  std::array<Fifo<T>, priorities> lanes_;
};

/// What this rank keeps about its traffic with one peer.
struct Link {
  std::int64_t credit = 0;         ///< eager bytes that the peer can still take; empty messages may overdraw it
  std::uint64_t returned = 0;      ///< eager bytes that the peer has consumed, as far as it has told
  std::uint64_t consumed = 0;      ///< eager bytes of the peer that were consumed here
  std::uint64_t told = 0;          ///< how many of the consumed bytes the peer knows of
  std::uint64_t parked = 0;        ///< eager messages of the peer that wait here, as its credit counts them
  std::uint64_t parked_empty = 0;  ///< messages without bytes of the peer that wait here, counted alike
  std::size_t offered = 0;         ///< descriptors of the peer that wait here
  std::size_t on_wire = 0;         ///< eager bytes handed to the transport and not yet sent
  std::size_t fetching = 0;        ///< bytes being fetched from the peer
  bool needs_pump = false;         ///< something changed while a handler ran: the queues must be looked at after it
  Lanes<Sending> sends;
  Lanes<Fetch> fetches;

  std::uint64_t& parked_of(std::uint64_t bytes) { return bytes > 0 ? parked : parked_empty; }
  std::uint64_t owed() const { return consumed - told; }
  /// Returns the credit that a header is to tell the peer.
  std::uint64_t tell() { return told = consumed; }
};

/// The links to all processes of the job, and which of them may have something to do. Its owner locks.
class Links {
 public:
  Links(Rank processes, std::uint64_t credit_bytes) : links_(static_cast<std::size_t>(processes)) {
    for (Link& peer : links_) peer.credit = static_cast<std::int64_t>(credit_bytes);
    pump_.reserve(links_.size());
  }

  Link& operator[](Rank peer) { return links_[static_cast<std::size_t>(peer)]; }
  std::size_t size() const { return links_.size(); }
  auto begin() { return links_.begin(); }
  auto end() { return links_.end(); }

  /// Something has changed: the queues of this link must be looked at once the transport's handlers have returned.
  void request_pump(Rank peer) {
    if (std::exchange((*this)[peer].needs_pump, true)) return;
    pump_.push_back(peer);
  }
  void request_pump_of_all() {
    for (std::size_t peer = 0; peer < links_.size(); ++peer) request_pump(static_cast<Rank>(peer));
  }
  bool needs_pump() const { return !pump_.empty(); }
  /// Returns a link whose queues must be looked at, and notes that this happens now.
  Rank take_pump() {
    const Rank peer = pump_.back();
    pump_.pop_back();
    (*this)[peer].needs_pump = false;
    return peer;
  }

 private:
  std::vector<Link> links_;
  std::vector<Rank> pump_;
};

}  // namespace lacuna::runtime
