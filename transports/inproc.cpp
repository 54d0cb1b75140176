#include "transports/inproc.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "runtime/values/digest.hpp"

namespace lacuna {
namespace {

/// Bytes that wait at their sender.
struct Offer {
  Peer sender = 0;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  Token token = nullptr;
};

/// Something that a rank will see in a later progress().
struct Event {
  enum class Kind : std::uint8_t { Message, Descriptor, Completion, Fetch };

  Kind kind = Kind::Message;
  Peer peer = 0;  ///< sender of a message; who fetched, for a completion
  std::uint32_t age = 0;
  std::array<std::byte, max_header_bytes> header;
  std::size_t header_bytes = 0;
  std::vector<std::byte> copied;
  const std::byte* referenced = nullptr;  ///< instead of `copied`
  std::size_t bytes = 0;
  Offer* offer = nullptr;
  Token token = nullptr;
  std::byte* to = nullptr;
  Status status;
};

/// What other ranks may touch of a rank.
struct Mailbox {
  Mailbox() : fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Mailbox() { ::close(fd); }

  std::mutex mutex;
  std::vector<Event*> incoming;
  std::vector<Event*> spare;
  std::deque<Event> all_events;
  std::deque<Offer> all_offers;
  std::vector<Offer*> spare_offers;
  std::atomic<std::size_t> waiting{0};
  std::atomic<bool> armed{false};
  const int fd;

  std::mutex memory_mutex;  ///< held while others read the memory of this rank's callers
  bool closed = false;      ///< under memory_mutex
};

struct Network {
  Network(Rank size, const InprocOptions& given) : options(given), mailboxes(static_cast<std::size_t>(size)) {}

  const InprocOptions options;
  std::deque<Mailbox> mailboxes;
};

class InprocTransport final : public Transport {
 public:
  InprocTransport(std::shared_ptr<Network> network, Peer rank)
      : network_(std::move(network)),
        rank_(rank),
        own_(network_->mailboxes[rank]),
        counters_(network_->mailboxes.size()),
        random_(mix64(network_->options.seed + rank)) {}
  ~InprocTransport() override { static_cast<void>(close(std::chrono::milliseconds(0))); }

  std::string_view name() const override { return "inproc"; }
  std::vector<std::byte> address() const override { return {}; }
  Status connect(std::vector<std::vector<std::byte>>, Receiver& receiver) override {
    receiver_ = &receiver;
    return {};
  }
  Status viable(const Memory& memory) const override {
    if (memory.kind == MemoryKind::Host) return {};
    return {Code::Unsupported, "device memory is not served; only host memory is"};
  }
  std::size_t eager_limit() const override { return network_->options.eager_limit; }

  Started send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Delivery delivery,
               Token token) override;
  Started fetch(Descriptor descriptor, std::byte* to, Token token) override;
  void discard(Descriptor descriptor) override;
  bool progress() override;
  int event_fd() const override { return own_.fd; }
  bool arm() override;
  Counters counters(Peer peer) const override { return counters_[peer]; }
  Status close(std::chrono::milliseconds deadline) override;

 private:
  template <class Fill>
  void post(Peer to, Fill fill);
  void collect();
  bool due(Event& event);
  void happen(Event& event);
  Status copy_offer(const Offer& offer, std::byte* to);
  void complete_offer(Offer& offer, const Status& status, std::size_t moved);
  std::uint64_t draw() { return random_ = mix64(random_ + 0x9e3779b97f4a7c15u); }

  const std::shared_ptr<Network> network_;
  const Peer rank_;
  Mailbox& own_;
  Receiver* receiver_ = nullptr;
  std::vector<Counters> counters_;
  std::vector<Event*> pending_;   // collected, not yet happened
  std::vector<Event*> finished_;  // to be given back to the mailbox
  std::uint64_t random_;
  bool closed_ = false;
};

/// Puts an event into a mailbox. Nodes live in the mailbox that they go to.
template <class Fill>
void InprocTransport::post(Peer to, Fill fill) {
  Mailbox& box = network_->mailboxes[to];
  {
    const std::lock_guard lock(box.mutex);
    if (box.spare.empty()) {
      box.all_events.emplace_back();
      box.spare.push_back(&box.all_events.back());
    }
    Event* event = box.spare.back();
    box.spare.pop_back();
    event->age = 0;
    event->status = {};
    event->referenced = nullptr;
    fill(*event);
    box.incoming.push_back(event);
    box.waiting.store(box.incoming.size());
  }
  if (box.armed.exchange(false)) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(box.fd, &one, sizeof one);
  }
}

Started InprocTransport::send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes,
                              Delivery delivery, Token token) {
  Counters& counted = counters_[to];
  ++counted.messages_sent;
  counted.header_sent += header.size();
  const bool copied = network_->options.sends == InprocOptions::Sends::Copied;
  Offer* offer = nullptr;
  if (delivery == Delivery::Descriptor) {
    const std::lock_guard lock(own_.mutex);
    if (own_.spare_offers.empty()) {
      own_.all_offers.emplace_back();
      own_.spare_offers.push_back(&own_.all_offers.back());
    }
    offer = own_.spare_offers.back();
    own_.spare_offers.pop_back();
    *offer = {rank_, bytes.data(), bytes.size(), token};
  } else {
    counted.payload_sent += bytes.size();
  }
  post(to, [&](Event& event) {
    event.kind = offer ? Event::Kind::Descriptor : Event::Kind::Message;
    event.peer = rank_;
    event.header_bytes = header.size();
    std::copy(header.begin(), header.end(), event.header.begin());
    event.bytes = bytes.size();
    event.offer = offer;
    event.token = token;
    if (offer) return;
    if (copied) {
      event.copied.assign(bytes.begin(), bytes.end());
    } else {
      event.referenced = bytes.data();
    }
  });
  return !offer && (copied || bytes.empty()) ? Started::Done : Started::Pending;
}

Status InprocTransport::copy_offer(const Offer& offer, std::byte* to) {
  Mailbox& sender = network_->mailboxes[offer.sender];
  const std::lock_guard lock(sender.memory_mutex);
  if (sender.closed) return {Code::Transport, "the sender has closed its transport"};
  if (offer.bytes > 0) std::memcpy(to, offer.data, offer.bytes);
  counters_[offer.sender].payload_received += offer.bytes;
  return {};
}

void InprocTransport::complete_offer(Offer& offer, const Status& status, std::size_t moved) {
  post(offer.sender, [&](Event& event) {
    event.kind = Event::Kind::Completion;
    event.peer = rank_;
    event.bytes = moved;
    event.offer = &offer;
    event.token = offer.token;
    event.status = status;
  });
}

Started InprocTransport::fetch(Descriptor descriptor, std::byte* to, Token token) {
  auto* offer = static_cast<Offer*>(descriptor.handle);
  if (network_->options.seed == 0) {
    if (copy_offer(*offer, to)) {
      complete_offer(*offer, Status::ok(), offer->bytes);
      return Started::Done;
    }
  }
  post(rank_, [&](Event& event) {
    event.kind = Event::Kind::Fetch;
    event.peer = offer->sender;
    event.offer = offer;
    event.token = token;
    event.to = to;
  });
  return Started::Pending;
}

void InprocTransport::discard(Descriptor descriptor) {
  complete_offer(*static_cast<Offer*>(descriptor.handle), Status::ok(), 0);
}

void InprocTransport::collect() {
  const std::lock_guard lock(own_.mutex);
  own_.spare.insert(own_.spare.end(), finished_.begin(), finished_.end());
  finished_.clear();
  pending_.insert(pending_.end(), own_.incoming.begin(), own_.incoming.end());
  own_.incoming.clear();
  own_.waiting.store(0);
}

/// Whether an event happens in this round: a coin, until it has waited long enough.
bool InprocTransport::due(Event& event) {
  constexpr std::uint32_t patience = 16;
  return network_->options.seed == 0 || ++event.age > patience || draw() % 3 == 0;
}

bool InprocTransport::progress() {
  if (pending_.empty() && own_.waiting.load() == 0) return false;
  collect();
  if (network_->options.seed != 0) {
    for (std::size_t i = pending_.size(); i > 1; --i) std::swap(pending_[i - 1], pending_[draw() % i]);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    Event* event = pending_[i];
    if (due(*event)) {
      happen(*event);
      finished_.push_back(event);
    } else {
      pending_[kept++] = event;
    }
  }
  const bool moved = kept < pending_.size();
  pending_.resize(kept);
  return moved;
}

void InprocTransport::happen(Event& event) {
  const std::span<const std::byte> header(event.header.data(), event.header_bytes);
  Counters& counted = counters_[event.peer];
  switch (event.kind) {
    case Event::Kind::Message: {
      ++counted.messages_received;
      counted.payload_received += event.bytes;
      if (!event.referenced) return receiver_->on_message(event.peer, header, event.copied);
      Mailbox& sender = network_->mailboxes[event.peer];
      {
        const std::lock_guard lock(sender.memory_mutex);
        if (sender.closed) return;
        receiver_->on_message(event.peer, header, {event.referenced, event.bytes});
      }
      return post(event.peer, [&](Event& completion) {
        completion.kind = Event::Kind::Completion;
        completion.peer = rank_;
        completion.bytes = 0;
        completion.offer = nullptr;
        completion.token = event.token;
      });
    }
    case Event::Kind::Descriptor:
      ++counted.messages_received;
      return receiver_->on_descriptor(event.peer, header, {event.offer, event.bytes});
    case Event::Kind::Completion:
      counted.payload_sent += event.bytes;
      if (event.offer) {
        const std::lock_guard lock(own_.mutex);
        own_.spare_offers.push_back(event.offer);
      }
      return receiver_->on_complete(event.token, event.status);
    case Event::Kind::Fetch: {
      const Status copied = copy_offer(*event.offer, event.to);
      if (copied) complete_offer(*event.offer, copied, event.offer->bytes);
      return receiver_->on_complete(event.token, copied);
    }
  }
}

bool InprocTransport::arm() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(own_.fd, &count, sizeof count);
  own_.armed.store(true);
  if (pending_.empty() && own_.waiting.load() == 0) return true;
  own_.armed.store(false);
  return false;
}

Status InprocTransport::close(std::chrono::milliseconds) {
  if (std::exchange(closed_, true)) return {};
  {
    const std::lock_guard lock(own_.memory_mutex);
    own_.closed = true;
  }
  collect();
  for (Event* event : pending_) {
    if (event->kind != Event::Kind::Descriptor) continue;
    complete_offer(*event->offer, {Code::Transport, "the receiver has closed its transport"}, 0);
  }
  pending_.clear();
  return {};
}

}  // namespace

std::vector<std::unique_ptr<Transport>> make_inproc(Rank size, const InprocOptions& options) {
  const auto network = std::make_shared<Network>(size, options);
  std::vector<std::unique_ptr<Transport>> transports;
  for (Rank rank = 0; rank < size; ++rank) {
    transports.push_back(std::make_unique<InprocTransport>(network, static_cast<Peer>(rank)));
  }
  return transports;
}

}  // namespace lacuna
