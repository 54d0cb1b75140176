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

/// A frame as it travels. Several connections share its bytes.
using SharedFrame = std::shared_ptr<const std::vector<std::byte>>;
SharedFrame share_frame(std::uint8_t kind, std::span<const std::byte> body);

/// Sends and receives frames over a connection, and never blocks. Its memory grows with the bytes that have arrived,
/// not with the lengths that the other end claims, and never beyond the limit for one frame. Thread rule: one thread at
/// a time.
class Channel {
 public:
  Channel() = default;
  /// `limit` is the most bytes that the body of a frame may have.
  Channel(Fd socket, std::size_t limit) : socket_(std::move(socket)), limit_(limit) {}

  bool is_open() const { return socket_.is_open(); }
  int fd() const { return socket_.get(); }
  std::string peer() const { return peer_name(socket_); }
  void set_limit(std::size_t limit) { limit_ = limit; }
  void close() { *this = Channel(); }

  static constexpr std::size_t most_unsent = std::size_t{4} << 20;

  /// Sends as much of a frame as the socket takes. The rest waits for flush(). If the connection is broken, the frame
  /// is lost, and fill() reports the break.
  void send(std::uint8_t kind, std::span<const std::byte> body = {}) { send(share_frame(kind, body)); }
  void send(SharedFrame frame);
  void flush();
  bool has_unsent() const { return !out_.empty(); }
  /// Was a frame dropped, because more than `most_unsent` bytes wait for the other end to read them?
  bool is_stuffed() const { return stuffed_; }
  /// Tells the other end that nothing more will come.
  void finish();

  /// Reads what has arrived. Returns false once the connection has ended. Frames that came before can still be taken.
  bool fill();
  /// Takes the oldest whole frame. Nothing if there is none.
  std::optional<Frame> next();
  /// Has the other end sent a frame beyond the limit, or something that is no frame?
  bool is_malformed() const { return malformed_; }

 private:
  void drop_unsent();

  Fd socket_;
  std::size_t limit_ = 0;
  std::vector<std::byte> in_;
  std::size_t taken_ = 0;         // bytes at the front of in_ that next() has returned
  std::vector<SharedFrame> out_;  // frames that wait, the oldest first
  std::size_t sent_ = 0;          // bytes of the first frame that are sent already
  std::size_t unsent_ = 0;        // bytes of all frames that wait
  bool malformed_ = false;
  bool stuffed_ = false;
};

}  // namespace lacuna::runtime
