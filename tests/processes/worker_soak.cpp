#include "tests/processes/worker_soak.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/processes/worker_storm.hpp"

namespace lacuna::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t operations_of_a_storm = 500;
constexpr std::size_t fewest_storms = 4;  // so that there is something to compare, however slow this host is
constexpr int reports = 60;

/// What this process holds.
struct Held {
  std::uint64_t memory = 0;  ///< resident, in KiB
  std::uint64_t descriptors = 0;
  std::uint64_t messages = 0;  ///< messages that wait for their step
};

/// What the process may hold at most. It follows from what it held at most in the first tenth of the time.
struct Bound {
  const char* of;
  std::uint64_t Held::*held;
  double factor;
  std::uint64_t more;
};
constexpr Bound bounds[] = {{"KiB of memory", &Held::memory, 1.25, 16 << 10},
                            {"descriptors", &Held::descriptors, 1, 4},
                            {"waiting messages", &Held::messages, 1, 64}};

Held held_now(const Communicator& world) {
  Held now{.messages = world.job_counters().waiting_messages};
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  now.memory = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  const std::filesystem::directory_iterator open("/proc/self/fd");
  now.descriptors = static_cast<std::uint64_t>(std::distance(begin(open), end(open)));
  return now;
}

Status check_growth(const Held& first, const Held& last) {
  for (const Bound& bound : bounds) {
    const auto allowed = static_cast<std::uint64_t>(bound.factor * static_cast<double>(first.*bound.held)) + bound.more;
    if (last.*bound.held > allowed) {
      return {Code::Internal, fmt::format("{} {} at the end, in the first tenth at most {}; allowed: {}",
                                          last.*bound.held, bound.of, first.*bound.held, allowed)};
    }
  }
  return {};
}

class Soak {
 public:
  Soak(Communicator& world, std::chrono::seconds time) : world_(world), time_(time) {}

  Status run(bool leak) {
    for (bool more = true; more;) {
      if (Status stormed = run_storm(world_, storms_ * operations_of_a_storm, operations_of_a_storm); !stormed) {
        return stormed;
      }
      ++storms_;
      if (leak) {
        leaked_.emplace_back(1 << 20, 'x');
        for (int i = 0; i < 8; ++i) static_cast<void>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      }
      if (Status looked = look(); !looked) return looked;
      auto agreed = agree_to_go_on();
      if (!agreed) return agreed.status();
      more = *agreed;
    }
    report();
    return check_growth(first_, last_);
  }

 private:
  /// Looks at what is held while no rank is in a storm. Only messages of the second barrier can have come already.
  Status look() {
    if (Status quiet = world_.call(barrier()); !quiet) return quiet;
    last_ = held_now(world_);
    if (elapsed() < time_ / 10 || storms_ == 1) {
      for (const Bound& bound : bounds) first_.*bound.held = std::max(first_.*bound.held, last_.*bound.held);
    }
    if (elapsed() >= time_ * reported_ / reports) report();
    return world_.call(barrier());
  }

  void report() {
    fmt::print("soaking: {:.1f} s, {} operations, {} KiB, {} descriptors, {} waiting\n",
               std::chrono::duration<double>(elapsed()).count(), storms_ * operations_of_a_storm, last_.memory,
               last_.descriptors, last_.messages);
    std::fflush(stdout);
    while (elapsed() >= time_ * reported_ / reports) ++reported_;
  }

  /// The clock of rank 0 decides for all.
  Result<bool> agree_to_go_on() {
    std::uint8_t more = elapsed() < time_ || storms_ < fewest_storms ? 1 : 0;
    if (Status told = world_.call(broadcast<std::uint8_t>(std::span(&more, 1), 0)); !told) return told;
    return more == 1;
  }

  Clock::duration elapsed() const { return Clock::now() - begin_; }

  Communicator& world_;
  const Clock::duration time_;
  const Clock::time_point begin_ = Clock::now();
  std::size_t storms_ = 0;
  int reported_ = 1;
  Held first_, last_;
  std::vector<std::string> leaked_;
};

}  // namespace

Status run_soak(Communicator& world, std::chrono::seconds time, bool leak) { return Soak(world, time).run(leak); }

}  // namespace lacuna::test
