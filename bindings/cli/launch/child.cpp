#include "bindings/cli/launch/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/job/socket.hpp"

namespace lacuna::cli {

namespace {

constexpr std::size_t longest_line = 1 << 16;  // longer lines are broken

struct Pipe {
  Fd read;
  Fd write;
};

std::optional<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// What the child needs between fork() and exec(). It is made before, because it may not be allocated there.
struct Start {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  pid_t launcher = 0;
  int input = -1;
  int output = -1;  ///< -1: the child writes to the launcher's own output
  int errors = -1;
  int report = -1;
};

[[noreturn]] void become(const Start& start) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != start.launcher) ::_exit(1);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(start.input, STDIN_FILENO);
  if (start.output >= 0) ::dup2(start.output, STDOUT_FILENO);
  if (start.errors >= 0) ::dup2(start.errors, STDERR_FILENO);
  ::execvpe(start.arguments[0], start.arguments.data(), start.environment.data());
  const int error = errno;
  static_cast<void>(!::write(start.report, &error, sizeof(error)));
  ::_exit(127);
}

}  // namespace

void LineCopier::copy() {
  char chunk[4096];
  while (is_open()) {
    const ssize_t count = ::read(fd(), chunk, sizeof(chunk));
    if (count > 0) {
      pending_.append(chunk, static_cast<std::size_t>(count));
      put_lines();
    } else if (count == 0) {
      from_.close();
    } else if (errno != EINTR) {
      if (errno != EAGAIN) from_.close();
      break;
    }
  }
  if (!is_open() && !pending_.empty()) put(std::exchange(pending_, {}));
}

void LineCopier::finish() {
  copy();
  from_.close();
  copy();
}

void LineCopier::put_lines() {
  std::size_t begin = 0;
  for (std::size_t end; (end = pending_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    put(std::string_view(pending_).substr(begin, end - begin));
  }
  pending_.erase(0, begin);
  if (pending_.size() > longest_line) put(std::exchange(pending_, {}));
}

void LineCopier::put(std::string_view line) {
  const std::string text = fmt::format("{}{}\n", prefix_, line);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(to_, text.data() + done, text.size() - done);
    if (count > 0) done += static_cast<std::size_t>(count);
    if (count < 0 && errno == EAGAIN) runtime::wait_for(to_, POLLOUT, runtime::Clock::time_point::max());
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
      lost_by_ = errno;
      return;
    }
  }
}

std::optional<Child> Child::start(const Program& program, int rank, int input, int& error) {
  std::vector<std::string> arguments = program.command;
  std::vector<std::string> environment = program.environment;
  environment.push_back(fmt::format("LACUNA_RANK={}", rank));
  std::optional<Pipe> report = make_pipe();
  std::optional<Pipe> output = program.prefix ? make_pipe() : std::nullopt;
  std::optional<Pipe> errors = program.prefix ? make_pipe() : std::nullopt;
  error = errno;
  if (!report || (program.prefix && (!output || !errors))) return std::nullopt;
  const Start start{.arguments = pointers_to(arguments),
                    .environment = pointers_to(environment),
                    .launcher = ::getpid(),
                    .input = input,
                    .output = output ? output->write.get() : -1,
                    .errors = errors ? errors->write.get() : -1,
                    .report = report->write.get()};
  const pid_t pid = ::fork();
  if (pid == 0) become(start);
  error = errno;
  if (pid < 0) return std::nullopt;
  ::setpgid(pid, pid);
  report->write.close();
  std::vector<LineCopier> copiers;
  const std::string prefix = fmt::format("[{}{}] ", program.what, rank - program.first);
  if (output) copiers.emplace_back(std::move(output->read), STDOUT_FILENO, prefix);
  if (errors) copiers.emplace_back(std::move(errors->read), STDERR_FILENO, prefix);
  for (const LineCopier& copier : copiers) ::fcntl(copier.fd(), F_SETFL, O_NONBLOCK);
  Child child(pid, std::move(copiers));
  error = 0;
  ssize_t count = 0;
  do {
    count = ::read(report->read.get(), &error, sizeof(error));
  } while (count < 0 && errno == EINTR);
  if (count != 0) return std::nullopt;
  return child;
}

Child::Child(pid_t pid, std::vector<LineCopier> copiers)
    : pid_(pid), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))), copiers_(std::move(copiers)) {}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      copiers_(std::move(other.copiers_)),
      ended_(other.ended_),
      exit_code_(other.exit_code_),
      killed_by_(other.killed_by_) {}

Child::~Child() {
  if (pid_ < 0) return;
  signal(SIGKILL);
  reap();
}

void Child::signal(int number) const {
  if (pid_ > 0) ::kill(-pid_, number);
}

bool Child::has_ended() {
  if (ended_) return true;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return false;
  }
  ended_ = true;
  (info.si_code == CLD_EXITED ? exit_code_ : killed_by_) = info.si_status;
  return true;
}

std::string Child::how_it_ended() const {
  if (killed_by_ != 0) return fmt::format("was killed by signal {} ({})", killed_by_, ::strsignal(killed_by_));
  return fmt::format("exited with code {}", exit_code_);
}

void Child::reap() {
  while (pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
}

}  // namespace lacuna::cli
