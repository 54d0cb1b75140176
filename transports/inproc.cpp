#include "transports/inproc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/values/count_of.hpp"
#include "runtime/values/digest.hpp"
#include "transports/inproc_mailbox.hpp"

namespace lacuna {
namespace {

class InprocTransport final : public Transport {
 public:
  InprocTransport(std::shared_ptr<InprocNetwork> network, Peer rank)
      : network_(std::move(network)),
        rank_(rank),
        own_(network_->mailboxes[rank]),
        seeded_(network_->options.seed != 0),
        copies_(network_->options.sends == InprocOptions::Sends::Copied),
        counters_(network_->mailboxes.size()),
        random_(Digest().add(network_->options.seed).add(rank).value()) {}
  ~InprocTransport() override { static_cast<void>(close(std::chrono::milliseconds(0))); }

  std::string_view name() const override { return "inproc"; }
  std::vector<std::byte> address() const override { return {}; }
  Status connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) override;
  Status viable(const Memory& memory) const override;
  std::size_t eager_limit() const override { return network_->options.eager_limit; }

  Started send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Delivery delivery,
               Token token) override;
  Started fetch(Descriptor descriptor, std::byte* to, Token token) override;
  void release(Descriptor descriptor) override;
  void discard(Descriptor descriptor) override;
  bool progress() override;

  int event_fd() const override { return own_.event_fd(); }
  bool arm() override { return pending_.empty() && own_.arm(); }
  Counters counters(Peer peer) const override { return counters_[peer]; }
  using Transport::close;
  Status close(std::chrono::milliseconds deadline, const std::function<bool()>& pause, Ending ending) override;
  Access abandon() override {
    static_cast<void>(close(std::chrono::milliseconds(0)));
    return Access::Nobody;  // the gate to its memory is closed
  }

 private:
  using Event = InprocEvent;

  Started send_eager(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Token token);
  Started send_descriptor(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Token token);
  void complete(Peer to, Token token);
  void complete(InprocOffer& offer, const Status& status, std::size_t moved);
  void end(InprocOffer& offer, std::size_t moved);
  bool copy(const InprocOffer& offer, std::byte* to);
  bool due(Event& event);
  void happen(Event& event);
  void deliver(Event& event);
  void end_fetch(const Event& event);
  Status closed(Peer peer) const { return {Code::PeerFailed, fmt::format("rank {} has closed its transport", peer)}; }
  std::uint64_t draw() { return mix64(random_ += 0x9e3779b97f4a7c15u); }

  const std::shared_ptr<InprocNetwork> network_;
  const Peer rank_;
  InprocMailbox& own_;
  const bool seeded_;
  const bool copies_;
  Receiver* receiver_ = nullptr;
  std::vector<Counters> counters_;
  std::vector<Event*> pending_;   // events that have been collected and have not happened yet
  std::vector<Event*> finished_;  // events to be given back to the mailbox
  std::uint64_t random_;
  bool closed_ = false;
};

Status InprocTransport::connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) {
  if (addresses.size() != counters_.size()) {
    return {Code::InvalidArgument,
            fmt::format("{}; this in-process network has {}", count_of(addresses.size(), "address"),
                        count_of(counters_.size(), "rank"))};
  }
  receiver_ = &receiver;
  return {};
}

Status InprocTransport::viable(const Memory& memory) const {
  if (memory.kind == MemoryKind::Host) return {};
  return {Code::Unsupported, "device memory is not supported; only host memory is"};
}

const std::byte* address_of_copy(const InprocOffer& offer) { return offer.copy.empty() ? nullptr : offer.copy.data(); }

void write_header(InprocEvent& event, Peer from, std::span<const std::byte> header) {
  event.peer = from;
  event.age = 0;
  event.header_bytes = header.size();
  std::copy(header.begin(), header.end(), event.header.begin());
}

Started InprocTransport::send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes,
                              Delivery delivery, Token token) {
  Counters& counted = counters_[to];
  ++counted.messages_sent;
  counted.header_sent += header.size();
  if (delivery == Delivery::Descriptor) return send_descriptor(to, header, bytes, token);
  counted.payload_sent += bytes.size();
  return send_eager(to, header, bytes, token);
}

Started InprocTransport::send_eager(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes,
                                    Token token) {
  const bool copied = copies_ || bytes.empty();
  const bool posted = network_->mailboxes[to].post([&](Event& event) {
    write_header(event, rank_, header);
    event.kind = Event::Kind::Message;
    event.bytes = bytes.size();
    event.referenced = copied ? nullptr : bytes.data();
    event.token = token;
    if (copied) event.copied.assign(bytes.begin(), bytes.end());
  });
  if (copied) return Started::Done;
  if (!posted) complete(rank_, token);
  return Started::Pending;
}

Started InprocTransport::send_descriptor(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes,
                                         Token token) {
  InprocOffer* offer = own_.make_offer(rank_, to, bytes, token);
  if (seeded_ && network_->options.reads_in_place && draw() % 2 == 0) offer->copy.assign(bytes.begin(), bytes.end());
  const bool posted = network_->mailboxes[to].post([&](Event& event) {
    write_header(event, rank_, header);
    event.kind = Event::Kind::Descriptor;
    event.offer = offer;
  });
  if (!posted && !offer->ended.exchange(true)) complete(*offer, closed(to), 0);
  return Started::Pending;
}

/// Tells a sender that its send has ended, so that its memory is its own again.
void InprocTransport::complete(Peer to, Token token) {
  network_->mailboxes[to].post([&](Event& event) {
    event.kind = Event::Kind::Completion;
    event.peer = rank_;
    event.age = 0;
    event.bytes = 0;
    event.offer = nullptr;
    event.token = token;
    event.status = {};
  });
}

/// Tells the sender of an offer that it has ended, which the caller has made sure.
void InprocTransport::complete(InprocOffer& offer, const Status& status, std::size_t moved) {
  network_->mailboxes[offer.sender].post([&](Event& event) {
    event.kind = Event::Kind::Completion;
    event.peer = offer.receiver;
    event.age = 0;
    event.bytes = moved;
    event.offer = &offer;
    event.token = offer.token;
    event.status = status;
  });
}

/// Copies the bytes of an offer. Returns false if the sender has closed.
bool InprocTransport::copy(const InprocOffer& offer, std::byte* to) {
  InprocGate& gate = network_->mailboxes[offer.sender].gate;
  if (!gate.enter()) return false;
  if (offer.bytes > 0) std::memcpy(to, offer.data, offer.bytes);
  gate.leave();
  counters_[offer.sender].payload_received += offer.bytes;
  return true;
}

Started InprocTransport::fetch(Descriptor descriptor, std::byte* to, Token token) {
  auto& offer = *static_cast<InprocOffer*>(descriptor.handle);
  if ((!seeded_ || draw() % 2 == 0) && copy(offer, to)) {
    end(offer, offer.bytes);
    return Started::Done;
  }
  own_.post([&](Event& event) {
    event.kind = Event::Kind::Fetch;
    event.peer = offer.sender;
    event.age = 0;
    event.offer = &offer;
    event.token = token;
    event.to = to;
  });
  return Started::Pending;
}

void InprocTransport::release(Descriptor descriptor) {
  auto& offer = *static_cast<InprocOffer*>(descriptor.handle);
  counters_[offer.sender].payload_received += offer.bytes;
  end(offer, offer.bytes);
}

void InprocTransport::discard(Descriptor descriptor) { end(*static_cast<InprocOffer*>(descriptor.handle), 0); }

/// Ends an offer to this rank, of which so many bytes have been read.
void InprocTransport::end(InprocOffer& offer, std::size_t moved) {
  std::fill(offer.copy.begin(), offer.copy.end(), std::byte{0xa5});  // nobody may read them any more
  offer.copy.clear();
  offer.ended.store(true);
  complete(offer, {}, moved);
}

/// Does an event happen in this round? A random number decides, until the event has waited long enough.
bool InprocTransport::due(Event& event) {
  constexpr std::uint32_t patience = 16;
  return !seeded_ || ++event.age > patience || draw() % 3 == 0;
}

bool InprocTransport::progress() {
  if (pending_.empty() && own_.empty()) return false;
  own_.collect(pending_, finished_);
  if (seeded_) {
    for (std::size_t i = pending_.size(); i > 1; --i) std::swap(pending_[i - 1], pending_[draw() % i]);
  }
  std::size_t kept = 0;
  for (Event* event : pending_) {
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
  switch (event.kind) {
    case Event::Kind::Message:
      return deliver(event);
    case Event::Kind::Descriptor:
      ++counters_[event.peer].messages_received;
      return receiver_->on_descriptor(event.peer, {event.header.data(), event.header_bytes},
                                      {event.offer, event.offer->bytes, address_of_copy(*event.offer)});
    case Event::Kind::Completion:
      counters_[event.peer].payload_sent += event.bytes;
      if (event.offer) own_.recycle(*event.offer);
      return receiver_->on_complete(event.token, event.status);
    case Event::Kind::Fetch:
      return end_fetch(event);
  }
}

/// Delivers a message. If its bytes are read in place and its sender has closed, it is lost.
void InprocTransport::deliver(Event& event) {
  InprocGate& gate = network_->mailboxes[event.peer].gate;
  if (event.referenced && !gate.enter()) return;
  ++counters_[event.peer].messages_received;
  counters_[event.peer].payload_received += event.bytes;
  const std::byte* bytes = event.referenced ? event.referenced : event.copied.data();
  receiver_->on_message(event.peer, {event.header.data(), event.header_bytes}, {bytes, event.bytes});
  if (!event.referenced) return;
  gate.leave();
  complete(event.peer, event.token);
}

void InprocTransport::end_fetch(const Event& event) {
  InprocOffer& offer = *event.offer;
  if (!copy(offer, event.to)) return receiver_->on_complete(event.token, closed(offer.sender));
  end(offer, offer.bytes);
  receiver_->on_complete(event.token, {});
}

Status InprocTransport::close(std::chrono::milliseconds, const std::function<bool()>&, Ending) {
  if (std::exchange(closed_, true)) return {};
  own_.gate.close();
  own_.close(pending_, finished_);
  for (const Event* event : pending_) {
    if (event->kind == Event::Kind::Message && event->referenced) complete(event->peer, event->token);
  }
  pending_.clear();
  for (InprocMailbox& sender : network_->mailboxes) {
    for (InprocOffer* offer : sender.end_offers_to(rank_)) complete(*offer, closed(rank_), 0);
  }
  return {};
}

}  // namespace

std::vector<std::unique_ptr<Transport>> make_inproc(Rank size, const InprocOptions& options) {
  const auto network = std::make_shared<InprocNetwork>(size, options);
  std::vector<std::unique_ptr<Transport>> transports;
  for (Rank rank = 0; rank < size; ++rank) {
    transports.push_back(std::make_unique<InprocTransport>(network, static_cast<Peer>(rank)));
  }
  return transports;
}

}  // namespace lacuna
