#pragma once

#include <cstdint>

#include "runtime/values/fd.hpp"

namespace lacuna {

/// Wakes a rank that sleeps on event_fd(). The other ranks of its host and of its own process can ring it. It is a
/// datagram socket with an abstract name. So it needs no file, no connection, and no memory of the process that rings.
/// Thread rule: any thread.
class Doorbell {
 public:
  /// Names a doorbell: a random number. A process of another network namespace finds no doorbell by it.
  struct Address {
    std::uint64_t high = 0, low = 0;  ///< both 0: there is no doorbell

    friend bool operator==(const Address&, const Address&) = default;
  };

  /// If the system allows no such socket, the address is zeros, and nobody can ring this doorbell.
  Doorbell();

  const Address& address() const { return address_; }
  /// Is readable after somebody has rung, until silence(). Negative: nobody can ring this doorbell.
  int event_fd() const { return socket_.get(); }
  void silence();
  /// Rings another doorbell without waiting. Returns false if there is none of this address, or if this one has no
  /// socket to ring from.
  bool ring(const Address& other) const;

 private:
  runtime::Fd socket_;
  Address address_;
};

}  // namespace lacuna
