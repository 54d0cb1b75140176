#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "tests/support/process.hpp"

namespace lacuna::runtime {

inline Job job(Rank rank, Rank size, const std::string& store,
               std::chrono::milliseconds timeout = std::chrono::seconds(10)) {
  return {.rank = rank,
          .size = size,
          .store = store,
          .key = "the right key",
          .host = "host" + std::to_string(rank),
          .timeout = timeout,
          .silence = std::chrono::seconds(10)};
}

inline std::vector<std::byte> bytes_of(Rank rank) {
  return std::vector<std::byte>(3 + static_cast<std::size_t>(rank) * 100, std::byte(rank));
}
inline MakeAddress address_of(Rank rank) {
  return [rank](const Gathering&) { return bytes_of(rank); };
}

/// A text such as "ok 1234567 host0 host1 ..." if everything is as address_of() says, or the error.
inline std::string outcome(const Result<Membership>& membership) {
  if (!membership) return membership.status().to_string();
  for (Rank rank = 0; rank < membership->size; ++rank) {
    if (membership->addresses[static_cast<std::size_t>(rank)] != bytes_of(rank)) return "wrong address";
    const bool connected = membership->star[static_cast<std::size_t>(rank)].is_open();
    if (connected != (rank != membership->rank && (membership->rank == 0 || rank == 0))) return "no star";
  }
  std::string text = "ok " + std::to_string(membership->nonce);
  for (const std::string& host : membership->hosts) text += " " + host;
  return text;
}

/// A process that joins the job and says the outcome. Then it waits until it is killed.
inline test::Process start(const Job& job, std::chrono::milliseconds delay = std::chrono::milliseconds(0)) {
  return test::Process([=](const test::Process::Say& say) {
    std::this_thread::sleep_for(delay);
    const Result<Membership> membership = join(job, address_of(job.rank));
    say(outcome(membership));
    ::pause();
  });
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in '" << text << "'";
}

}  // namespace lacuna::runtime
