#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/engine/landing.hpp"
#include "runtime/engine/pool.hpp"
#include "runtime/engine/run.hpp"
#include "runtime/engine/wire.hpp"

namespace lacuna::runtime {

/// Tells a message from all others that a communicator receives. Messages are numbered within a stream. The tags of one
/// sender share a fixed number of streams, so that new tags need no more memory.
struct MessageName {
  Rank source = 0;  ///< rank of the job
  std::uint32_t tag = 0;
  std::uint32_t number = 0;

  friend bool operator==(const MessageName&, const MessageName&) = default;
};

/// A communicator's receives without a message and messages without a receive. They meet by source and tag, in the
/// order in which the messages were sent, whatever the order in which they arrive. A message meets the earliest receive
/// that takes its tag from its source or from any one. A receive from any source meets the message that has waited
/// longest. Its owner locks.
class Mailbox {
 public:
  /// A message of which some bytes are still to come, and what takes it.
  struct Arriving {
    MessageName name;
    std::uint64_t bytes = 0;
    Arrived arrived;                ///< which bytes have come
    MessageRun* receive = nullptr;  ///< the receive that it fills, or null
    Landing* landing = nullptr;     ///< where it waits for a receive
  };

  explicit Mailbox(Rank job_size) : peers_(static_cast<std::size_t>(job_size)) {}

  /// Makes room for what is known of this rank. After that next_number() throws nothing.
  void meet(Rank peer) { static_cast<void>(stream(peer, 0)); }
  /// Returns the number of the next message to a rank.
  std::uint32_t next_number(Rank to, std::uint32_t tag) { return stream(to, tag).sent++; }
  /// Returns how far the named message is ahead of the next one of its stream. It is negative if its turn is over.
  std::int32_t ahead(const MessageName& name) {
    return static_cast<std::int32_t>(name.number - stream(name.source, name.tag).received);
  }
  /// Is this message the next of its stream? If so, the one after it is the next from now on.
  bool take_turn(const MessageName& name);

  void add_receive(MessageRun& receive);
  /// Returns the receive that takes this message, or null. If it is one from any source, this becomes its peer.
  MessageRun* take_receive(Rank source, std::uint32_t tag);
  void forget_receive(const MessageRun& receive);

  /// Adds a message whose turn has come and that no receive has asked for.
  void add_unexpected(Landing* message);
  /// The source may be MessageRun::any_process.
  Landing* take_unexpected(Rank source, std::uint32_t tag);
  const Landing* unexpected(Rank source, std::uint32_t tag);

  /// Holds a message that has overtaken another one of its stream.
  void hold(Landing* message) { held_.push(message); }
  bool holds(const MessageName& name);
  /// Returns the held message of this tag's stream whose turn it is now, or null.
  Landing* take_held(Rank source, std::uint32_t tag);

  Arriving* arriving(const MessageName& name);
  Arriving& add_arriving(const MessageName& name, std::uint64_t bytes);
  void end_arriving(const Arriving& message);
  /// The rest of the message that has begun to arrive in this landing goes to this receive. Null: nobody takes it.
  void hand_over(const Landing& landing, MessageRun* receive);

  /// Empties the mailbox and returns its landings, which the caller must release.
  std::vector<Landing*> clear();

 private:
  static constexpr std::size_t buckets = 64;
  static constexpr std::size_t streams = 64;

  struct Stream {
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
  };

  static std::size_t bucket(Rank source, std::uint32_t tag) {
    return (static_cast<std::size_t>(source) * 31 + tag) % buckets;
  }
  Stream& stream(Rank peer, std::uint32_t tag);
  Fifo<MessageRun*>& receives_like(Rank source, std::uint32_t tag) {
    return source == MessageRun::any_process ? receives_from_any_[tag % buckets] : receives_[bucket(source, tag)];
  }
  /// Returns the message that a receive from any source would take, or null.
  const Landing* oldest_unexpected(std::uint32_t tag);

  std::vector<std::unique_ptr<std::array<Stream, streams>>> peers_;  // by rank; null before a rank's first message
  std::uint64_t next_turn_ = 0;
  std::array<Fifo<MessageRun*>, buckets> receives_;
  std::array<Fifo<MessageRun*>, buckets> receives_from_any_;  // by tag
  std::array<Fifo<Landing*>, buckets> unexpected_;
  Fifo<Landing*> held_;
  std::array<std::vector<Arriving>, buckets> arriving_;
};

}  // namespace lacuna::runtime
