#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "transports/ucx_transport.hpp"

// A process offers each segment of its MappableHeap to a peer of its host when it first has a descriptor of that memory
// for the peer. The peer maps the segment and says so. From then on descriptors of that memory travel as Mapped
// messages, which name the place of the bytes. The peer reads them there, and tells the sender when it has done so.
namespace lacuna {

using Word = UcxControl::Word;

/// Returns where the peer finds these bytes in a segment that it has mapped. If it has been offered none, it is now.
std::optional<MappableHeap::Place> UcxTransport::place_for(UcxLink& link, std::span<const std::byte> bytes) {
  if (!link.is_near || bytes.empty() || link.departed || link.failure != UCS_OK) return std::nullopt;
  const auto place = MappableHeap::of_process().find(bytes);
  if (!place) return std::nullopt;
  if (link.offers.size() <= place->segment) link.offers.resize(place->segment + 1);
  UcxOffer& offer = link.offers[place->segment];
  if (offer == UcxOffer::None) {
    offer = UcxOffer::Asked;
    tell(
        link,
        {.word = Word::Offer, .number = place->segment, .segment = MappableHeap::of_process().segment(place->segment)});
  }
  return offer == UcxOffer::Mapped ? place : std::nullopt;
}

bool UcxTransport::is_mapped_by(Peer peer, std::span<const std::byte> bytes) {
  return place_for(links_[peer], bytes).has_value();
}

void UcxTransport::offer_arrived(UcxLink& link, const UcxControl& offer) {
  if (closing_) return;
  auto mapped = MappedSegment::map(offer.segment);
  if (mapped) link.segments.try_emplace(offer.number, std::move(*mapped));
  answers_.emplace_back(&link, UcxControl{.word = mapped ? Word::Mapped : Word::Unmapped, .number = offer.number});
}

void UcxTransport::answer_arrived(UcxLink& link, const UcxControl& answer) {
  if (answer.number >= link.offers.size()) return;
  link.offers[answer.number] = answer.word == Word::Mapped ? UcxOffer::Mapped : UcxOffer::Unmapped;
}

/// Shows a descriptor of bytes that are mapped here. A message that no transport of lacuna sends is dropped.
void UcxTransport::mapped_arrived(UcxLink& link, const UcxArrival& message) {
  UcxMappedBytes place;
  if (message.at_sender || message.bytes != sizeof place || message.header.size() > max_header_bytes) return;
  std::memcpy(&place, message.data, sizeof place);
  const auto found = link.segments.find(place.segment);
  if (found == link.segments.end()) return;
  const std::span<const std::byte> segment = found->second.bytes();
  if (place.offset > segment.size() || place.bytes > segment.size() - place.offset) return;
  if (closing_) {
    answers_.emplace_back(&link, UcxControl{.word = Word::Ended, .operation = place.operation});
    return;
  }
  ++link.counters.messages_received;
  UcxWaiting* waiting = waiting_.take();
  *waiting = {.from = link.peer,
              .bytes = place.bytes,
              .here = segment.subspan(place.offset, place.bytes),
              .mapped = place.operation,
              .in_use = true};
  receiver_->on_descriptor(link.peer, message.header, waiting->descriptor());
}

/// A peer has ended a Mapped message of this name.
void UcxTransport::end_arrived(UcxLink& link, std::uint64_t name) {
  const std::uint64_t place = name % ucx_next_use - 1;
  if (place >= operations_.all().size()) return;
  UcxOperation& sent = operations_.all()[place];
  const bool is_meant = sent.owner && sent.name == name && sent.kind == UcxKind::Mapped && sent.peer == link.peer;
  if (!is_meant || sent.is_over()) return;
  sent.is_read = true;
  if (sent.returned && sent.is_over()) calling_ ? ended_.push_back(&sent) : report(&sent);
}

/// Ends the Mapped messages that the peer will not end any more.
void UcxTransport::end_mapped_sends(UcxLink& link, int status) {
  for (UcxOperation& one : operations_.all()) {
    const bool waits = one.owner && one.peer == link.peer && one.kind == UcxKind::Mapped && one.ended && !one.is_over();
    if (waits) static_cast<void>(fail(&one, status));
  }
}

}  // namespace lacuna
