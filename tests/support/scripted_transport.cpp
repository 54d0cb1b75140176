#include "tests/support/scripted_transport.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lacuna::test {

void ScriptedTransport::arrive(Peer from, std::span<const std::byte> header, std::span<const std::byte> bytes,
                               Delivery delivery) {
  arrivals_.push_back(
      std::make_unique<Arrival>(Arrival{from, {header.begin(), header.end()}, {bytes.begin(), bytes.end()}, delivery}));
}

Status ScriptedTransport::connect(std::vector<std::vector<std::byte>>, Receiver& receiver) {
  receiver_ = &receiver;
  return {};
}

Started ScriptedTransport::send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes,
                                Delivery delivery, Token token) {
  Sent& one = sent.emplace_back(Sent{to, {}, {bytes.begin(), bytes.end()}, delivery});
  std::memcpy(&one.header, header.data(), std::min(header.size(), sizeof one.header));
  if (delivery == Delivery::Eager) return Started::Done;
  ended_.push_back(token);
  return Started::Pending;
}

std::unique_ptr<ScriptedTransport::Arrival> ScriptedTransport::take(Descriptor descriptor) {
  const auto at = offers_.find(descriptor.handle);
  if (at == offers_.end()) std::abort();  // a descriptor must be ended exactly once
  auto offer = std::move(at->second);
  offers_.erase(at);
  offered = offers_.size();
  return offer;
}

Started ScriptedTransport::fetch(Descriptor descriptor, std::byte* to, Token token) {
  auto offer = take(descriptor);
  if (!fetches_wait) {
    std::copy(offer->bytes.begin(), offer->bytes.end(), to);
    return Started::Done;
  }
  fetches_.push_back({std::move(offer), to, token});
  std::size_t waiting = 0;
  for (const Fetch& fetch : fetches_) waiting += fetch.offer->bytes.size();
  fetched_at_once = std::max(fetched_at_once, waiting);
  return Started::Pending;
}

void ScriptedTransport::discard(Descriptor descriptor) { take(descriptor); }

bool ScriptedTransport::progress() {
  const bool moved = !arrivals_.empty() || !fetches_.empty() || !ended_.empty() || !lost_.empty();
  for (Peer peer : std::exchange(lost_, {})) receiver_->on_peer_failure(peer, Status(Code::Transport, "lost"));
  for (Token token : std::exchange(ended_, {})) receiver_->on_complete(token, {});
  for (Fetch& fetch : std::exchange(fetches_, {})) {
    std::copy(fetch.offer->bytes.begin(), fetch.offer->bytes.end(), fetch.to);
    receiver_->on_complete(fetch.token, {});
  }
  while (!arrivals_.empty()) {
    auto arrival = std::move(arrivals_.front());
    arrivals_.pop_front();
    if (arrival->delivery == Delivery::Eager) {
      receiver_->on_message(arrival->from, arrival->header, arrival->bytes);
      continue;
    }
    Arrival* const handle = arrival.get();
    Arrival& offer = *offers_.emplace(handle, std::move(arrival)).first->second;
    offered = offers_.size();
    receiver_->on_descriptor(offer.from, offer.header, {&offer, offer.bytes.size()});
  }
  return moved;
}

Status ScriptedTransport::close(std::chrono::milliseconds, const std::function<bool()>&, Ending) {
  static_cast<void>(abandon());
  return {};
}

Access ScriptedTransport::abandon() {
  arrivals_.clear();
  offers_.clear();
  fetches_.clear();
  ended_.clear();
  return Access::Nobody;
}

}  // namespace lacuna::test
