#include "bindings/cli/launch/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace lacuna::cli {
namespace {

bool is_in_foreground() { return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp(); }

/// Writes without the signal that would end this process if nobody reads any more.
ssize_t write_quietly(int to, const std::string& text) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t count = ::write(to, text.data(), text.size());
  const int error = errno;
  const timespec at_once{};
  if (count < 0 && error == EPIPE) ::sigtimedwait(&pipe, nullptr, &at_once);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return count;
}

}  // namespace

Input::Input() : empty_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  int ends[2];
  if (::isatty(STDIN_FILENO) != 1 || ::pipe2(ends, O_CLOEXEC) != 0) return;
  rank_end_ = runtime::Fd(ends[0]);
  own_end_ = runtime::Fd(ends[1]);
  ::fcntl(own_end_.get(), F_SETFL, O_NONBLOCK);
}

int Input::of_rank(int rank) const {
  if (rank != 0) return empty_.get();
  if (rank_end_.is_open()) return rank_end_.get();
  return ::isatty(STDIN_FILENO) == 1 ? empty_.get() : STDIN_FILENO;
}

int Input::descriptor(short& events) const {
  if (!own_end_.is_open()) return -1;
  events = pending_.empty() ? POLLIN : POLLOUT;
  if (!pending_.empty()) return own_end_.get();
  return is_in_foreground() ? STDIN_FILENO : -1;
}

void Input::copy() {
  short events = 0;
  const int fd = descriptor(events);
  pollfd ready{.fd = fd, .events = events, .revents = 0};
  if (fd < 0 || ::poll(&ready, 1, 0) != 1) return;
  if (pending_.empty()) {
    char typed[4096];
    const ssize_t count = ::read(STDIN_FILENO, typed, sizeof(typed));
    if (count > 0) pending_.assign(typed, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) own_end_.close();
  }
  if (pending_.empty()) return;
  const ssize_t count = write_quietly(own_end_.get(), pending_);
  if (count > 0) pending_.erase(0, static_cast<std::size_t>(count));
  if (count < 0 && errno != EINTR && errno != EAGAIN) own_end_.close();
}

}  // namespace lacuna::cli
