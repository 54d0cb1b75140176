#include "runtime/job/channel.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "runtime/job/encoding.hpp"

namespace lacuna::runtime {

namespace {

constexpr std::size_t prefix_bytes = sizeof(std::uint32_t) + sizeof(std::uint8_t);

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

void Channel::send(std::uint8_t kind, std::span<const std::byte> body) {
  if (out_.size() > most_unsent) stuffed_ = true;
  if (!is_open() || stuffed_) return;
  Encoder prefix;
  prefix.put(static_cast<std::uint32_t>(body.size())).put(kind);
  out_.insert(out_.end(), prefix.bytes().begin(), prefix.bytes().end());
  out_.insert(out_.end(), body.begin(), body.end());
  flush();
}

void Channel::flush() {
  std::size_t sent = 0;
  while (is_open() && sent < out_.size()) {
    const ssize_t count = ::send(fd(), out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      if (!would_block(errno)) sent = out_.size();
      break;
    }
  }
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent));
}

void Channel::finish() {
  if (is_open()) ::shutdown(fd(), SHUT_WR);
}

bool Channel::fill() {
  if (!is_open()) return false;
  in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(std::exchange(taken_, 0)));
  std::array<std::byte, 4096> chunk;
  while (in_.size() <= limit_ + prefix_bytes) {
    const ssize_t count = ::recv(fd(), chunk.data(), chunk.size(), 0);
    if (count > 0) {
      in_.insert(in_.end(), chunk.begin(), chunk.begin() + count);
    } else if (count == 0) {
      return false;
    } else if (errno != EINTR) {
      return would_block(errno);
    }
  }
  return true;
}

std::optional<Frame> Channel::next() {
  const std::span<const std::byte> rest = std::span(in_).subspan(taken_);
  if (malformed_ || rest.size() < prefix_bytes) return std::nullopt;
  Decoder prefix(rest.first(prefix_bytes));
  const auto length = prefix.get<std::uint32_t>();
  const auto kind = prefix.get<std::uint8_t>();
  if (length > limit_) {
    malformed_ = true;
    return std::nullopt;
  }
  if (rest.size() < prefix_bytes + length) return std::nullopt;
  const auto body = rest.subspan(prefix_bytes, length);
  taken_ += prefix_bytes + length;
  return Frame{.kind = kind, .body = {body.begin(), body.end()}};
}

}  // namespace lacuna::runtime
