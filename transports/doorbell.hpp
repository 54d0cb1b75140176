#pragma once

#include <cstdint>

#include "runtime/values/fd.hpp"

namespace lacuna {

/// Wakes a process of the same host, or another rank of the same process, that sleeps on event_fd(). It is a socket
/// with an abstract name, so that it needs no file, no connection, and no memory that a process takes along when it
/// leaves. Thread rule: any thread.
class Doorbell {
 public:
  /// Where others ring: a random number. Processes of another network namespace do not find it.
  struct Address {
    std::uint64_t high = 0, low = 0;  ///< both 0: there is no doorbell

    friend bool operator==(const Address&, const Address&) = default;
  };

  /// Where the system allows no such socket, nobody can ring here.
  Doorbell();

  const Address& address() const { return address_; }
  /// Is readable after somebody has rung, until silence(). Negative: nobody can ring here.
  int event_fd() const { return socket_.get(); }
  void silence();
  /// Rings at another doorbell, and does not wait. Returns false if nobody has one there, or this process has none.
  bool ring(const Address& other) const;

 private:
  runtime::Fd socket_;
  Address address_;
};

}  // namespace lacuna
