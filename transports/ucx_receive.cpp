#include <ucp/api/ucp.h>

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "transports/ucx_transport.hpp"

namespace lacuna {

struct UcxTransport::ReceiveCallbacks {
  template <UcxKind kind>
  static ucs_status_t arrived(void* user, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                              const ucp_am_recv_param_t* parameters) {
    UcxLink& link = *static_cast<UcxLink*>(user);
    const UcxArrival message = {.header = {static_cast<const std::byte*>(header), header_bytes},
                                .data = data,
                                .bytes = bytes,
                                .at_sender = (parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0};
    bool keeps = false;
    link.owner->shielded(link, [&] { keeps = link.owner->arrived(link, kind, message); });
    return keeps ? UCS_INPROGRESS : UCS_OK;
  }
};

int UcxTransport::set_handlers() {
  constexpr std::array<std::pair<UcxKind, ucp_am_recv_callback_t>, ucx_kinds> handlers = {{
      {UcxKind::Eager, ReceiveCallbacks::arrived<UcxKind::Eager>},
      {UcxKind::Descriptor, ReceiveCallbacks::arrived<UcxKind::Descriptor>},
      {UcxKind::Mapped, ReceiveCallbacks::arrived<UcxKind::Mapped>},
      {UcxKind::Control, ReceiveCallbacks::arrived<UcxKind::Control>},
  }};
  ucp_am_handler_param_t parameters{};
  parameters.field_mask =
      UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  for (UcxLink& link : links_) {
    parameters.arg = &link;
    for (const auto& [kind, handler] : handlers) {
      parameters.id = ucx_message_id(link.peer, kind);
      parameters.cb = handler;
      const ucs_status_t status = ucp_worker_set_am_recv_handler(ucx_.worker.get(), &parameters);
      if (status != UCS_OK) return status;
    }
  }
  return UCS_OK;
}

/// Takes a message from UCX. Returns true if UCX must keep its descriptor. A message that no transport of lacuna sends
/// is dropped.
bool UcxTransport::arrived(UcxLink& link, UcxKind kind, const UcxArrival& message) {
  if (!link.reached) {
    link.met = link.reached = true;
    connections_.push_back(&link);
  }
  if (kind == UcxKind::Control) {
    UcxControl control;
    if (message.header.size() != sizeof control) return false;
    std::memcpy(&control, message.header.data(), sizeof control);
    control_arrived(link, control);
    return false;
  }
  if (kind == UcxKind::Mapped) {
    mapped_arrived(link, message);
    return false;
  }
  if (closing_ || message.header.size() > max_header_bytes) return false;
  if (kind == UcxKind::Descriptor) {
    ++link.counters.messages_received;
    return show(link, message);
  }
  if (message.at_sender) return false;
  ++link.counters.messages_received;
  link.counters.payload_received += message.bytes;
  receiver_->on_message(link.peer, message.header, {static_cast<const std::byte*>(message.data), message.bytes});
  return false;
}

void UcxTransport::control_arrived(UcxLink& link, const UcxControl& control) {
  using enum UcxControl::Word;
  switch (control.word) {
    case Hello:
      return;
    case Heard:
      link.heard = true;
      return;
    case Goodbye:
      if (std::exchange(link.departed, true)) return;
      link.owed = true;
      return goodbyes_.push_back(&link);
    case Offer:
      return offer_arrived(link, control);
    case Mapped:
    case Unmapped:
      return answer_arrived(link, control);
    case Ended:
      return end_arrived(link, control.operation);
  }
}

bool UcxTransport::show(UcxLink& link, const UcxArrival& message) {
  UcxWaiting* waiting = waiting_.take();
  waiting->from = link.peer;
  waiting->bytes = message.bytes;
  waiting->in_use = true;
  if (message.at_sender) {
    waiting->at_sender = message.data;
  } else {
    const auto* bytes = static_cast<const std::byte*>(message.data);
    waiting->copy.assign(bytes, bytes + message.bytes);
    waiting->here = waiting->copy;
  }
  receiver_->on_descriptor(link.peer, message.header, waiting->descriptor());
  return message.at_sender;
}

void UcxTransport::release(Descriptor descriptor) {
  const auto* waiting = static_cast<const UcxWaiting*>(descriptor.handle);
  links_[waiting->from].counters.payload_received += waiting->bytes;
  discard(descriptor);
}

void UcxTransport::discard(Descriptor descriptor) {
  auto* waiting = static_cast<UcxWaiting*>(descriptor.handle);
  progressing_ ? discarded_.push_back(waiting) : let_go(waiting);
}

void UcxTransport::let_go(UcxWaiting* waiting) {
  if (waiting->at_sender) ucp_am_data_release(ucx_.worker.get(), waiting->at_sender);
  if (waiting->own) ended_.push_back(waiting->own);
  if (waiting->mapped) {
    std::atomic_thread_fence(std::memory_order_release);  // what was read stays before what tells the sender so
    tell(links_[waiting->from], {.word = UcxControl::Word::Ended, .operation = waiting->mapped});
  }
  *waiting = {};
  waiting_.give_back(waiting);
}

bool UcxTransport::deliver_own() {
  UcxLink& link = links_[rank_];
  const std::size_t count = own_.size();  // a handler may add more
  for (std::size_t i = 0; i < count; ++i) {
    const UcxOwnMessage message = std::move(own_[i]);
    ++link.counters.messages_received;
    if (message.operation->kind == UcxKind::Eager) {
      link.counters.payload_received += message.bytes.size();
      release(message.operation);
      receiver_->on_message(rank_, message.header, message.bytes);
      continue;
    }
    UcxWaiting* waiting = waiting_.take();
    *waiting = {
        .from = rank_, .bytes = message.bytes.size(), .own = message.operation, .here = message.bytes, .in_use = true};
    receiver_->on_descriptor(rank_, message.header, waiting->descriptor());
  }
  own_.erase(own_.begin(), own_.begin() + static_cast<std::ptrdiff_t>(count));
  return true;
}

}  // namespace lacuna
