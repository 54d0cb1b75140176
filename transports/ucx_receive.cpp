#include <ucp/api/ucp.h>

#include <cstring>

#include "transports/ucx_transport.hpp"

namespace lacuna {

struct UcxTransport::ReceiveCallbacks {
  static ucs_status_t arrived(void* transport, const void* header, std::size_t header_bytes, void* data,
                              std::size_t bytes, const ucp_am_recv_param_t* parameters) {
    const bool at_sender = (parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    const std::span head(static_cast<const std::byte*>(header), header_bytes);
    const bool kept = static_cast<UcxTransport*>(transport)->arrived(head, data, bytes, at_sender);
    return kept ? UCS_INPROGRESS : UCS_OK;
  }
};

int UcxTransport::set_handler() {
  ucp_am_handler_param_t parameters{};
  parameters.field_mask =
      UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  parameters.id = ucx_message_id;
  parameters.cb = ReceiveCallbacks::arrived;
  parameters.arg = this;
  return ucp_worker_set_am_recv_handler(ucx_.worker.get(), &parameters);
}

/// True if UCX has to keep the descriptor. What no transport of ours can have sent is dropped.
bool UcxTransport::arrived(std::span<const std::byte> header, void* data, std::size_t bytes, bool at_sender) {
  if (header.size() < ucx_word_bytes || header.size() > ucx_header_bytes) return false;
  std::uint32_t word = 0;
  std::memcpy(&word, header.data(), ucx_word_bytes);
  const Peer from = word & ((1u << ucx_rank_bits) - 1);
  const auto kind = static_cast<UcxKind>(word >> ucx_rank_bits);
  if (from >= links_.size() || (at_sender && kind != UcxKind::Descriptor)) return false;
  UcxLink& link = links_[from];
  link.met = true;
  if (kind == UcxKind::Goodbye) {
    link.departed = true;
    link.owed = true;
    goodbyes_.push_back(&link);
    return false;
  }
  if (kind == UcxKind::Heard) {
    link.heard = true;
    return false;
  }
  if (closing_) return false;
  ++link.counters.messages_received;
  const auto callers_header = header.subspan(ucx_word_bytes);
  const std::span payload(static_cast<const std::byte*>(data), bytes);
  if (kind == UcxKind::Eager) {
    link.counters.payload_received += bytes;
    receiver_->on_message(from, callers_header, payload);
    return false;
  }
  UcxWaiting* waiting = waiting_.take();
  waiting->from = from;
  waiting->bytes = bytes;
  waiting->at_sender = at_sender ? data : nullptr;
  if (!at_sender) waiting->copy.assign(payload.begin(), payload.end());
  show(waiting, callers_header);
  return at_sender;
}

void UcxTransport::show(UcxWaiting* waiting, std::span<const std::byte> header) {
  waiting->in_use = true;
  receiver_->on_descriptor(waiting->from, header, {waiting, waiting->bytes});
}

void UcxTransport::discard(Descriptor descriptor) {
  auto* waiting = static_cast<UcxWaiting*>(descriptor.handle);
  progressing_ ? discarded_.push_back(waiting) : let_go(waiting);
}

void UcxTransport::let_go(UcxWaiting* waiting) {
  if (waiting->at_sender) ucp_am_data_release(ucx_.worker.get(), waiting->at_sender);
  if (waiting->own) ended_.push_back(waiting->own);
  waiting->at_sender = nullptr;
  waiting->own = nullptr;
  waiting->copy.clear();
  waiting->in_use = false;
  waiting_.give_back(waiting);
}

bool UcxTransport::deliver_own() {
  Counters& counters = links_[rank_].counters;
  const std::size_t count = own_.size();  // a handler may add more
  for (std::size_t i = 0; i < count; ++i) {
    UcxOperation* message = own_[i];
    ++counters.messages_received;
    if (message->kind() == UcxKind::Eager) {
      counters.payload_received += message->bytes.size();
      receiver_->on_message(rank_, message->callers_header(), message->bytes);
      release(message);
      continue;
    }
    UcxWaiting* waiting = waiting_.take();
    waiting->from = rank_;
    waiting->bytes = message->bytes.size();
    waiting->own = message;
    show(waiting, message->callers_header());
  }
  own_.erase(own_.begin(), own_.begin() + static_cast<std::ptrdiff_t>(count));
  return true;
}

}  // namespace lacuna
