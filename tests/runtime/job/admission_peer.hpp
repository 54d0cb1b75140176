#pragma once

#include <poll.h>

#include <string>
#include <thread>

#include "runtime/job/admission.hpp"
#include "tests/runtime/job/bootstrap_job.hpp"

namespace lacuna::runtime {

/// A connection to the store, without the code of lacuna's client.
inline Channel connect_raw(const test::ReservedPort& port) {
  const auto addresses = resolve(*parse_endpoint(port.store()));
  const auto deadline = Clock::now() + std::chrono::seconds(5);
  while (Clock::now() < deadline) {
    if (Result<Fd> socket = connect_to(*addresses, deadline)) return Channel(*std::move(socket), 4096);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

inline Frame next_frame(Channel& channel) {
  const auto deadline = Clock::now() + std::chrono::seconds(5);
  while (true) {
    if (auto frame = channel.next()) return *frame;
    if (!wait_for(channel.fd(), POLLIN, deadline) || !channel.fill()) return channel.next().value_or(Frame());
  }
}

inline std::string refusal(Channel& channel) {
  const auto refused = admission::read_refused(next_frame(channel));
  return refused ? refused->to_string() : "not refused";
}

/// Accepts one client, as a store that the test plays.
inline Channel accept_raw(const Fd& listener) {
  wait_for(listener.get(), POLLIN, Clock::now() + std::chrono::seconds(5));
  return Channel(accept_from(listener), 4096);
}

}  // namespace lacuna::runtime
