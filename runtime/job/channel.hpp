#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/job/socket.hpp"

namespace lacuna::runtime {

/// A message of the bootstrap or the watch.
struct Frame {
  std::uint8_t kind = 0;
  std::vector<std::byte> body;
};

/// A frame as it travels, for several connections: its bytes are there once.
using SharedFrame = std::shared_ptr<const std::vector<std::byte>>;
SharedFrame share_frame(std::uint8_t kind, std::span<const std::byte> body);

/// Frames over a connection that does not block. Memory grows with the bytes that have arrived, not with the lengths
/// that the other end claims, and never beyond the limit for one frame.
/// Thread rule: one thread at a time.
class Channel {
 public:
  Channel() = default;
  /// `limit`: most bytes of a frame's body.
  Channel(Fd socket, std::size_t limit) : socket_(std::move(socket)), limit_(limit) {}

  bool is_open() const { return socket_.is_open(); }
  int fd() const { return socket_.get(); }
  std::string peer() const { return peer_name(socket_); }
  void set_limit(std::size_t limit) { limit_ = limit; }
  void close() { *this = Channel(); }

  static constexpr std::size_t most_unsent = std::size_t{4} << 20;

  /// Sends a frame as far as the socket takes it; the rest waits for flush(). A broken connection swallows it: the
  /// reading side reports the break.
  void send(std::uint8_t kind, std::span<const std::byte> body = {}) { send(share_frame(kind, body)); }
  void send(SharedFrame frame);
  void flush();
  bool has_unsent() const { return !out_.empty(); }
  /// The other end takes nothing, and a frame was dropped: more than `most_unsent` bytes wait.
  bool is_stuffed() const { return stuffed_; }
  /// Tells the other end that nothing more will come.
  void finish();

  /// Reads what has arrived. False once the connection has ended; frames that came before can still be taken.
  bool fill();
  /// The oldest whole frame, if there is one.
  std::optional<Frame> next();
  /// The other end sent something that is no frame, or one beyond the limit.
  bool is_malformed() const { return malformed_; }

 private:
  void drop_unsent();

  Fd socket_;
  std::size_t limit_ = 0;
  std::vector<std::byte> in_;
  std::size_t taken_ = 0;         // bytes at the front of in_ that next() has given away
  std::vector<SharedFrame> out_;  // the oldest first
  std::size_t sent_ = 0;          // bytes of the first of them
  std::size_t unsent_ = 0;        // bytes of all of them
  bool malformed_ = false;
  bool stuffed_ = false;
};

}  // namespace lacuna::runtime
