#include "tests/support/process.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

namespace lacuna::test {

Process::Process(const std::function<void(const Say& say)>& body) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  from_ = runtime::Fd(ends[0]);
  runtime::Fd to(ends[1]);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("no process");
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  body([&](const std::string& line) {
    const std::string text = line + "\n";
    if (::write(to.get(), text.data(), text.size()) < 0) ::_exit(1);
  });
  ::_exit(0);
}

Process::~Process() {
  if (pid_ < 0) return;
  signal(SIGKILL);
  wait();
}

void Process::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);  // -1 would be every process of the machine
}

std::string Process::line(std::chrono::milliseconds within) {
  const auto deadline = runtime::Clock::now() + within;
  std::size_t end;
  while ((end = pending_.find('\n')) == std::string::npos) {
    char chunk[1024];
    if (!runtime::wait_for(from_.get(), POLLIN, deadline)) return "(nothing)";
    const ssize_t count = ::read(from_.get(), chunk, sizeof(chunk));
    if (count <= 0) return "(nothing)";
    pending_.append(chunk, static_cast<std::size_t>(count));
  }
  const std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return line;
}

int Process::wait() {
  if (pid_ < 0) return ended_with_;
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  return ended_with_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

ReservedPort::ReservedPort() : holder_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  ::setsockopt(holder_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(holder_.get(), any, bytes) != 0 || ::getsockname(holder_.get(), any, &bytes) != 0) {
    throw std::runtime_error("no free port");
  }
  number_ = ntohs(address.sin_port);
}

}  // namespace lacuna::test
