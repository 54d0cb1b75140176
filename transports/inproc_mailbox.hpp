#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/values/fd.hpp"
#include "transports/inproc.hpp"
#include "transports/transport.hpp"

namespace lacuna {

/// Bytes that wait at their sender. The offer lives in the sender's mailbox until the sender has seen the completion.
struct InprocOffer {
  Peer sender = 0;
  Peer receiver = 0;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  Token token = nullptr;
  bool live = false;
  std::vector<std::byte> copy{};   ///< the bytes, if they travel with the offer, so that they can be read at once
  std::atomic<bool> ended{false};  ///< the code that sets it must tell the sender
};

/// Something that a rank will see in a later progress().
struct InprocEvent {
  enum class Kind : std::uint8_t { Message, Descriptor, Completion, Fetch };

  Kind kind = Kind::Message;
  Peer peer = 0;  ///< the other rank
  std::uint32_t age = 0;
  std::array<std::byte, max_header_bytes> header;
  std::size_t header_bytes = 0;
  std::vector<std::byte> copied;
  const std::byte* referenced = nullptr;  ///< instead of `copied`
  std::size_t bytes = 0;
  InprocOffer* offer = nullptr;
  Token token = nullptr;
  std::byte* to = nullptr;
  Status status;
};

/// Counts the ranks that are reading a rank's memory, so that the rank can close between their reads. Thread rule: any
/// thread.
class InprocGate {
 public:
  /// Returns false if the gate is closed. If not, leave() must follow.
  bool enter() {
    if ((state_.fetch_add(1) & closed) == 0) return true;
    leave();
    return false;
  }
  void leave() {
    if (state_.fetch_sub(1) == closed + 1) state_.notify_all();
  }
  /// Closes the gate, and returns when nobody is inside any more.
  void close() {
    state_.fetch_or(closed);
    for (auto state = state_.load(); state != closed; state = state_.load()) state_.wait(state);
  }

 private:
  static constexpr std::uint32_t closed = 1u << 31;
  std::atomic<std::uint32_t> state_{0};
};

/// What other ranks touch of a rank: the events for the rank, the offers that it made, and the gate to its memory.
/// Events and offers are used again. Thread rule: any thread may call post() and end_offers_to() and use the gate. Only
/// the rank itself may use the rest.
class InprocMailbox {
 public:
  InprocMailbox();
  InprocMailbox(const InprocMailbox&) = delete;
  InprocMailbox& operator=(const InprocMailbox&) = delete;

  /// Lets `fill` write an event, and puts it into the queue. Returns false if the rank has closed; then nothing was put
  /// there.
  template <class Fill>
  bool post(Fill fill) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return false;
      fill(*queue_node());
    }
    if (armed_.load() && armed_.exchange(false)) signal();
    return true;
  }

  bool empty() const { return waiting_.load() == 0; }
  /// Appends the events of the queue to `pending`, and takes back the events in `finished`.
  void collect(std::vector<InprocEvent*>& pending, std::vector<InprocEvent*>& finished);
  /// Does what collect() does. Afterwards nothing can be posted.
  void close(std::vector<InprocEvent*>& pending, std::vector<InprocEvent*>& finished);

  InprocOffer* make_offer(Peer sender, Peer receiver, std::span<const std::byte> bytes, Token token);
  void recycle(InprocOffer& offer);
  /// Ends all offers to a rank that nobody has ended yet, and returns them. The caller must tell their sender. Thread
  /// rule: any thread.
  std::vector<InprocOffer*> end_offers_to(Peer receiver);

  int event_fd() const { return event_.get(); }
  /// Asks post() to make event_fd() readable. Returns false if an event is in the queue already.
  bool arm();

  InprocGate gate;

 private:
  InprocEvent* queue_node();
  void take(std::vector<InprocEvent*>& pending, std::vector<InprocEvent*>& finished);
  void signal() const;

  std::mutex mutex_;
  std::vector<InprocEvent*> incoming_;
  std::vector<InprocEvent*> spare_;
  std::deque<InprocEvent> all_events_;
  std::vector<InprocOffer*> spare_offers_;
  std::deque<InprocOffer> all_offers_;
  bool closed_ = false;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<bool> armed_{false};
  const runtime::Fd event_;
};

/// The mailbox of each rank.
struct InprocNetwork {
  InprocNetwork(Rank size, const InprocOptions& given) : options(given), mailboxes(static_cast<std::size_t>(size)) {}

  const InprocOptions options;
  std::deque<InprocMailbox> mailboxes;
};

}  // namespace lacuna
