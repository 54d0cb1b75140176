#include "runtime/job/channel.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "runtime/engine/encoding.hpp"

namespace lacuna::runtime {

namespace {

constexpr std::size_t prefix_bytes = sizeof(std::uint32_t) + sizeof(std::uint8_t);

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

SharedFrame share_frame(std::uint8_t kind, std::span<const std::byte> body) {
  Encoder prefix;
  prefix.put(static_cast<std::uint32_t>(body.size())).put(kind);
  std::vector<std::byte> bytes;
  bytes.reserve(prefix_bytes + body.size());
  bytes.insert(bytes.end(), prefix.bytes().begin(), prefix.bytes().end());
  bytes.insert(bytes.end(), body.begin(), body.end());
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

void Channel::send(SharedFrame frame) {
  if (unsent_ > most_unsent) stuffed_ = true;
  if (!is_open() || stuffed_) return;
  unsent_ += frame->size();
  out_.push_back(std::move(frame));
  flush();
}

void Channel::flush() {
  std::size_t done = 0;  // frames sent whole
  while (is_open() && done < out_.size()) {
    const std::vector<std::byte>& frame = *out_[done];
    const ssize_t count = ::send(fd(), frame.data() + sent_, frame.size() - sent_, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && would_block(errno)) break;
    if (count < 0) return drop_unsent();
    sent_ += static_cast<std::size_t>(count);
    unsent_ -= static_cast<std::size_t>(count);
    if (sent_ < frame.size()) continue;
    sent_ = 0;
    ++done;
  }
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(done));
}

void Channel::drop_unsent() {
  out_.clear();
  sent_ = unsent_ = 0;
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
