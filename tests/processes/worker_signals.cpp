#include "tests/processes/worker_signals.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace lacuna::test {
namespace {

/// Returns the signals that a thread of this process blocks, as /proc shows them: bit n - 1 is signal n.
std::uint64_t blocked_in(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:")) return std::stoull(line.substr(7), nullptr, 16);
  }
  return 0;
}

/// Returns the signals of POSIX that a process can block.
std::uint64_t can_be_blocked() {
  std::uint64_t all = 0;
  for (int number = 1; number < 32; ++number) {
    if (number != SIGKILL && number != SIGSTOP) all |= std::uint64_t{1} << (number - 1);
  }
  return all;
}

}  // namespace

Status find_signals_blocked(std::size_t threads) {
  std::size_t found = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(::gettid())) continue;
    ++found;
    const std::uint64_t blocked = blocked_in(thread.path());
    if ((blocked & can_be_blocked()) != can_be_blocked()) {
      std::string name;
      std::getline(std::ifstream(thread.path() / "comm"), name);
      return {Code::Internal, fmt::format("thread {} of {} blocks only {:x}", found, name, blocked)};
    }
  }
  if (found >= threads) return {};
  return {Code::Internal, fmt::format("there are {} other threads, not {}", found, threads)};
}

}  // namespace lacuna::test
