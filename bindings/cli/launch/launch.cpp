#include "bindings/cli/launch/launch.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "bindings/cli/launch/binding.hpp"
#include "bindings/cli/launch/child.hpp"
#include "bindings/cli/launch/deaths.hpp"
#include "bindings/cli/launch/input.hpp"
#include "bindings/cli/launch/segment_folder.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cli/trace/trace.hpp"
#include "runtime/job/admission.hpp"
#include "runtime/job/names.hpp"
#include "runtime/job/socket.hpp"
#include "runtime/values/count_of.hpp"
#include "transports/ucx.hpp"

namespace lacuna::cli {

namespace {

using runtime::Clock;
using runtime::poll_timeout;

constexpr const char* segment_folder_variable = "UCX_POSIX_DIR";
constexpr std::chrono::milliseconds longest_drain{200};  // for the output of processes that ranks left behind

void say(const std::string& text) { write_error("lacuna launch: {}\n", text); }

/// A port of 127.0.0.1 that nobody else gets while `holder` lives. `holder` is bound, but does not listen, so that rank
/// 0 can.
struct Port {
  Fd holder;
  int number = 0;
};

Port reserve_port() {
  Fd holder(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::setsockopt(holder.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(holder.get(), any, bytes) != 0 || ::getsockname(holder.get(), any, &bytes) != 0) {
    return {};
  }
  return {.holder = std::move(holder), .number = ntohs(address.sin_port)};
}

std::string random_key() {
  std::array<std::byte, 32> bytes{};
  if (!runtime::admission::fill_random(bytes)) return {};
  std::string key;
  for (std::byte byte : bytes) key += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return key;
}

/// Returns this process's environment, with the job's own variables in place of what was there.
std::vector<std::string> environment_for(const LaunchOptions& options, int port, const std::string& key) {
  std::vector<std::string_view> replaced = {
      "LACUNA_RANK=", "LACUNA_SIZE=", "LACUNA_AGGREGATORS=", "LACUNA_STORE=", "LACUNA_KEY="};
  if (options.progress) replaced.emplace_back("LACUNA_PROGRESS=");
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const auto is_replaced = [&](std::string_view name) { return variable.starts_with(name); };
    if (std::none_of(replaced.begin(), replaced.end(), is_replaced)) environment.emplace_back(variable);
  }
  environment.push_back(fmt::format("LACUNA_SIZE={}", options.ranks));
  if (options.aggregators > 0) environment.push_back(fmt::format("LACUNA_AGGREGATORS={}", options.aggregators));
  if (options.progress) environment.push_back(fmt::format("LACUNA_PROGRESS={}", to_string(*options.progress)));
  environment.push_back(fmt::format("LACUNA_STORE=127.0.0.1:{}", port));
  environment.push_back("LACUNA_KEY=" + key);
  return environment;
}

/// Will UCX make segments of POSIX shared memory, in a folder that the user has not chosen?
bool takes_segments() { return std::getenv(segment_folder_variable) == nullptr && ucx_tries_posix(); }

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Receives this process's signals as data while it lives. Signals that were ignored stay ignored.
class Signals {
 public:
  Signals() {
    ::signal(SIGCHLD, SIG_DFL);  // some parents leave it ignored, and then nobody could wait for a child
    sigset_t caught;
    sigemptyset(&caught);
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGCONT}) {
      if (!is_ignored(number)) sigaddset(&caught, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &caught, &before_);
    fd_ = Fd(::signalfd(-1, &caught, SFD_NONBLOCK | SFD_CLOEXEC));
  }
  ~Signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_.get(); }
  /// Returns the next signal to pass on, or 0 if there is none.
  int next() const {
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof(info)) == sizeof(info)) {
      if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGCONT) return static_cast<int>(info.ssi_signo);
    }
    return 0;
  }

 private:
  sigset_t before_{};
  Fd fd_;
};

/// Has a signal ended a rank, or its child? The death of another rank causes no such end: ranks that hear of it exit
/// with an error or abort, and may be gone while the kernel still takes the first one down.
bool was_struck(int exit_code) { return exit_code > 128 && exit_code <= 128 + SIGRTMAX && exit_code != 128 + SIGABRT; }

/// Watches over the ranks from their start to the end of the last one.
class Session {
 public:
  /// Each rank is bound to its share of the processors, or none is.
  Session(const LaunchOptions& options, std::vector<Processors> shares)
      : options_(options), shares_(std::move(shares)) {}

  /// Returns 0, or the exit code if a rank could not be started or watched. The other ranks are killed then.
  int start(const Program& ranks, const Program& aggregators);
  int run();

 private:
  bool is_aggregator(Rank rank) const { return rank >= options_.ranks; }
  std::string name_of(Rank rank) const;
  std::string names_of(const std::vector<Rank>& ranks) const;
  int start(const Program& program, Rank first, int count);
  std::optional<Child> start_one(const Program& program, Rank rank, int& error);
  void sleep();
  void look_for_failures();
  void dismiss_aggregators();
  void name_suspect();
  void take(int signal);
  void end_by(int signal);
  void escalate();
  std::vector<Rank> running();
  void drain();
  bool has_lost_output() const;

  const LaunchOptions& options_;
  const std::vector<Processors> shares_;  // by rank; empty: nobody is bound
  Signals signals_;
  Input input_;
  Deaths deaths_;
  std::vector<Child> children_;
  std::optional<Rank> suspect_;  // the first rank that failed; an aggregator if no rank has
  bool dismissed_ = false;       // only aggregators are left, if anybody is
  int result_ = 0;               // exit code of the rank that was named
  int last_signal_ = 0;          // the signal that the ranks were sent
  Clock::time_point next_step_ = Clock::time_point::max();
};

std::string Session::name_of(Rank rank) const {
  return is_aggregator(rank) ? fmt::format("aggregator {}", rank - options_.ranks) : fmt::format("rank {}", rank);
}

int Session::start(const Program& ranks, const Program& aggregators) {
  if (signals_.fd() < 0) {
    say("the system gives no descriptor that tells of signals (signalfd), by which ranks are watched");
    return 1;
  }
  const int failed = start(ranks, 0, options_.ranks);
  input_.started();
  return failed != 0 ? failed : start(aggregators, options_.ranks, options_.aggregators);
}

int Session::start(const Program& program, Rank first, int count) {
  for (Rank rank = first; rank < first + count; ++rank) {
    int error = 0;
    std::optional<Child> child = start_one(program, rank, error);
    if (!child) {
      say(fmt::format("cannot execute '{}': {}", program.command.front(), ::strerror(error)));
      return error == ENOENT ? 127 : 126;
    }
    deaths_.watch(rank, child->pidfd());
    children_.push_back(*std::move(child));
  }
  return 0;
}

std::optional<Child> Session::start_one(const Program& program, Rank rank, int& error) {
  const int input = input_.of_rank(rank);
  if (shares_.empty() || is_aggregator(rank)) return Child::start(program, rank, input, error);
  const Processors& share = shares_[static_cast<std::size_t>(rank)];
  const BoundTo bound(share);
  if (!bound.is_bound()) {
    say(fmt::format("{} can't be bound to {} {}", name_of(rank), share.size() == 1 ? "processor" : "processors",
                    fmt::join(share, ", ")));
  }
  return Child::start(program, rank, input, error);
}

int Session::run() {
  while (!running().empty()) {
    sleep();
    while (const int signal = signals_.next()) take(signal);
    input_.copy();
    for (Child& child : children_) {
      for (LineCopier& copier : child.copiers()) copier.copy();
    }
    look_for_failures();
    dismiss_aggregators();
    if (Clock::now() >= next_step_) escalate();
  }
  look_for_failures();
  dismiss_aggregators();
  name_suspect();
  if (result_ != 0 || (last_signal_ != 0 && !dismissed_)) {
    for (Child& child : children_) child.signal(SIGKILL);
  }
  drain();
  for (Child& child : children_) child.reap();
  return result_ == 0 && has_lost_output() ? 1 : result_;
}

void Session::sleep() {
  std::vector<pollfd> waiting{{.fd = signals_.fd(), .events = POLLIN, .revents = 0}};
  for (Child& child : children_) {
    for (LineCopier& copier : child.copiers()) {
      if (copier.is_open()) waiting.push_back({.fd = copier.fd(), .events = POLLIN, .revents = 0});
    }
  }
  short events = 0;
  if (const int input = input_.descriptor(events); input >= 0) {
    waiting.push_back({.fd = input, .events = events, .revents = 0});
  }
  ::poll(waiting.data(), waiting.size(), next_step_ == Clock::time_point::max() ? -1 : poll_timeout(next_step_));
}

std::vector<Rank> Session::running() {
  std::vector<Rank> ranks;
  for (std::size_t rank = 0; rank < children_.size(); ++rank) {
    if (!children_[rank].has_ended()) ranks.push_back(static_cast<Rank>(rank));
  }
  return ranks;
}

/// "ranks 0, 2", "rank 1 and aggregators 0, 1". The ranks ascend.
std::string Session::names_of(const std::vector<Rank>& ranks) const {
  std::vector<Rank> own, aggregators;
  for (Rank rank : ranks) is_aggregator(rank) ? aggregators.push_back(rank - options_.ranks) : own.push_back(rank);
  std::string text = own.empty() ? "" : runtime::name_ranks(own);
  if (aggregators.empty()) return text;
  if (!text.empty()) text += " and ";
  return text + fmt::format("aggregator{} {}", aggregators.size() == 1 ? "" : "s", fmt::join(aggregators, ", "));
}

void Session::look_for_failures() {
  for (Rank rank : deaths_.take()) {
    Child& child = children_[static_cast<std::size_t>(rank)];
    if (!child.has_ended() || child.exit_code() == 0) continue;
    // The ranks may see that an aggregator was killed, and end, before its death is told here.
    const bool was_killed = last_signal_ == 0 && was_struck(child.exit_code());
    if (is_aggregator(rank) && dismissed_ && !was_killed) continue;
    if (!suspect_ && last_signal_ == 0) next_step_ = Clock::now() + options_.patience;
    if (!suspect_ || (is_aggregator(*suspect_) && !is_aggregator(rank))) suspect_ = rank;
    if (!was_struck(child.exit_code())) continue;
    suspect_ = rank;
    name_suspect();
  }
}

/// Once all ranks have ended, the aggregators have nothing to do. They find out by themselves if the ranks have joined
/// the job. How they end does not matter then, unless somebody else kills them.
void Session::dismiss_aggregators() {
  if (dismissed_ || result_ != 0 || options_.aggregators == 0) return;
  const std::vector<Rank> left = running();
  const bool ranks_are_left = !left.empty() && !is_aggregator(left.front());
  if (ranks_are_left || (suspect_ && !is_aggregator(*suspect_))) return;
  for (Rank rank = options_.ranks; rank < options_.ranks + options_.aggregators; ++rank) {
    Child& child = children_[static_cast<std::size_t>(rank)];
    if (!child.has_ended() || !was_struck(child.exit_code())) continue;
    suspect_ = rank;  // it was killed while there were ranks, and deaths are told in any order
    return name_suspect();
  }
  dismissed_ = true;
  suspect_.reset();
  next_step_ = Clock::now() + (last_signal_ == 0 ? options_.patience : options_.grace);
}

void Session::name_suspect() {
  if (!suspect_ || result_ != 0) return;
  const Child& child = children_[static_cast<std::size_t>(*suspect_)];
  result_ = child.exit_code();
  say(fmt::format("{} (process {}) {}", name_of(*suspect_), child.pid(), child.how_it_ended()));
}

/// Passes a signal on. SIGUSR1 and SIGUSR2 mean what the ranks take them for, and nothing to aggregators.
void Session::take(int signal) {
  if (signal != SIGUSR1 && signal != SIGUSR2) return end_by(signal);
  say(fmt::format("passing {} on to all ranks", signal == SIGUSR1 ? "SIGUSR1" : "SIGUSR2"));
  for (Rank rank = 0; rank < options_.ranks; ++rank) children_[static_cast<std::size_t>(rank)].signal(signal);
}

void Session::end_by(int signal) {
  name_suspect();
  const bool again = last_signal_ != 0;
  last_signal_ = again ? SIGKILL : signal;
  say(fmt::format("{} to all ranks after {}", again ? "SIGKILL" : "passing it on", ::strsignal(signal)));
  for (Child& child : children_) child.signal(last_signal_);
  next_step_ = again ? Clock::time_point::max() : Clock::now() + options_.closing;
}

void Session::escalate() {
  name_suspect();
  const std::vector<Rank> still_there = running();
  next_step_ = Clock::time_point::max();
  if (still_there.empty()) return;
  const bool first = last_signal_ == 0;
  last_signal_ = first ? SIGTERM : SIGKILL;
  if (!dismissed_) say(fmt::format("{} {}", first ? "ending" : "killing", names_of(still_there)));
  for (Child& child : children_) {
    if (!dismissed_ || !child.has_ended()) child.signal(last_signal_);
  }
  if (first) next_step_ = Clock::now() + options_.grace;
}

void Session::drain() {
  const Clock::time_point until = Clock::now() + longest_drain;
  for (Child& child : children_) {
    for (LineCopier& copier : child.copiers()) {
      while (copier.is_open() && Clock::now() < until && runtime::wait_for(copier.fd(), POLLIN, until)) copier.copy();
      copier.finish();
    }
  }
}

/// Says so, if it has.
bool Session::has_lost_output() const {
  for (const Child& child : children_) {
    for (const LineCopier& copier : child.copiers()) {
      if (copier.lost_by() == 0) continue;
      say(fmt::format("output of ranks is lost, because it can't be written: {}", ::strerror(copier.lost_by())));
      return true;
    }
  }
  return false;
}

}  // namespace

int launch(const LaunchOptions& options) {
  if (options.aggregators < 0 || (options.aggregators > 0 && options.aggregator.empty())) {
    say(fmt::format("{} of no program; their number must be 0 or more, and each needs a program",
                    count_of(options.aggregators, "aggregator")));
    return 2;
  }
  if (options.ranks < 1 || options.command.empty()) {
    say(fmt::format("{} of a command of {}; at least one of each is needed", count_of(options.ranks, "rank"),
                    count_of(options.command.size(), "word")));
    return 2;
  }
  std::vector<Processors> shares;
  if (options.bind) {
    const Processors processors = processors_of_thread();
    shares = shares_of(cores_of(processors, "/sys/devices/system/cpu"), options.ranks);
    if (shares.empty()) {
      say(fmt::format("--bind needs a processor for each of the {}, and this process may use {}",
                      count_of(options.ranks, "rank"), count_of(processors.size(), "processor")));
      return 2;
    }
  }
  const Port port = reserve_port();
  const std::string key = random_key();
  if (!port.holder.is_open() || key.empty()) {
    say("this host has no free port on 127.0.0.1, or no random numbers");
    return 1;
  }
  Program program{
      .command = options.command, .environment = environment_for(options, port.number, key), .prefix = options.prefix};
  const auto begin = std::filesystem::file_time_type::clock::now();
  std::optional<SegmentFolder> segments;
  if (takes_segments()) segments.emplace("/dev/shm");
  if (segments && !segments->path().empty()) {
    program.environment.push_back(fmt::format("{}={}", segment_folder_variable, segments->path().string()));
  }
  Program aggregators = program;
  aggregators.command = options.aggregator;
  aggregators.what = "aggregator ";
  aggregators.first = options.ranks;
  Session session(options, std::move(shares));
  if (const int failed = session.start(program, aggregators); failed != 0) return failed;
  const int result = session.run();
  merge_traces_since(begin);
  return result;
}

}  // namespace lacuna::cli
