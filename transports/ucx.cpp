#include "transports/ucx.hpp"

#include <fmt/format.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/values/count_of.hpp"
#include "transports/ucx_transport.hpp"

namespace lacuna {

struct UcxTransport::SendCallbacks {
  static void sent(void* request, ucs_status_t status, void* user) {
    ucp_request_free(request);
    auto* operation = static_cast<UcxOperation*>(user);
    UcxTransport& owner = *operation->owner;
    owner.shielded(owner.links_[operation->peer], [&] { owner.on_end(operation, status); });
  }
  static void fetched(void* request, ucs_status_t status, std::size_t, void* user) { sent(request, status, user); }
};

Result<std::unique_ptr<Transport>> make_ucx(const UcxOptions& options) {
  auto ucx = start_ucx(options);
  if (!ucx) return ucx.status();
  return std::unique_ptr<Transport>(std::make_unique<UcxTransport>(std::move(*ucx), options.host));
}

std::string_view ucx_version() { return ucp_get_version_string(); }

Status ucx_error(int status) {
  const auto code = static_cast<ucs_status_t>(status);
  constexpr std::array broken = {UCS_ERR_CONNECTION_RESET, UCS_ERR_ENDPOINT_TIMEOUT, UCS_ERR_UNREACHABLE,
                                 UCS_ERR_NOT_CONNECTED,    UCS_ERR_REJECTED,         UCS_ERR_CANCELED};
  const bool peer_failed = std::find(broken.begin(), broken.end(), code) != broken.end();
  return {peer_failed ? Code::PeerFailed : Code::Transport, fmt::format("UCX: {}", ucs_status_string(code))};
}

/// The number of the host, and behind it what UCX needs.
std::vector<std::byte> UcxTransport::address() const {
  std::vector<std::byte> address(sizeof host_ + ucx_.address.size());
  std::memcpy(address.data(), &host_, sizeof host_);
  std::copy(ucx_.address.begin(), ucx_.address.end(), address.begin() + sizeof host_);
  return address;
}

Status UcxTransport::connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) {
  const std::vector<std::byte> own = address();
  const auto mine = std::find(addresses.begin(), addresses.end(), own);
  if (mine == addresses.end() || addresses.size() > ucx_most_ranks) {
    return {Code::InvalidArgument, fmt::format("{}; there may be {} at most, and one of them is this process's",
                                               count_of(addresses.size(), "address"), ucx_most_ranks)};
  }
  rank_ = static_cast<Peer>(mine - addresses.begin());
  addresses_ = std::move(addresses);
  links_.resize(addresses_.size());
  for (std::size_t peer = 0; peer < links_.size(); ++peer) {
    links_[peer].owner = this;
    links_[peer].peer = static_cast<Peer>(peer);
    links_[peer].is_near =
        host_ != 0 && peer != rank_ && std::equal(own.begin(), own.begin() + sizeof host_, addresses_[peer].begin());
  }
  make_room(failures_, 2 * links_.size());
  make_room(goodbyes_, links_.size());
  make_room(connections_, 2 * links_.size());
  if (const int status = set_handlers(); status != UCS_OK) return ucx_error(status);
  receiver_ = &receiver;
  return {};
}

Status UcxTransport::viable(const Memory& memory) const {
  if (memory.kind == MemoryKind::Host) return {};
  return {Code::Unsupported,
          fmt::format(
              "the ucx transport supports only host memory; {} memory of device {} would need UCX to be started with "
              "its CUDA transports, which this version does not do",
              to_string(memory.kind), memory.device)};
}

UcxOperation* UcxTransport::new_operation(Peer peer, UcxKind kind, Token token) {
  UcxOperation* operation = operations_.take();
  make_room(ended_, operations_.all().size());
  // A name tells which operation it is and which use of it, so that an end that comes late ends nothing else.
  const std::uint64_t name = operation->name ? operation->name + ucx_next_use : operations_.all().size();
  *operation = {.owner = this, .token = token, .peer = peer, .kind = kind, .name = name};
  ++links_[peer].pending;
  return operation;
}

Started UcxTransport::send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes,
                           Delivery delivery, Token token) {
  UcxLink& link = links_[to];
  const auto place = delivery == Delivery::Descriptor ? place_for(link, bytes) : std::nullopt;
  const UcxKind kind = delivery == Delivery::Eager ? UcxKind::Eager : place ? UcxKind::Mapped : UcxKind::Descriptor;
  UcxOperation* operation = new_operation(to, kind, token);
  ++link.counters.messages_sent;
  link.counters.payload_sent += bytes.size();
  link.counters.header_sent += header.size();
  if (to == rank_) return send_to_itself(operation, header, bytes);
  if (!place) return post(link, operation, header, bytes);
  operation->mapped = {
      .segment = place->segment, .offset = place->offset, .bytes = bytes.size(), .operation = operation->name};
  return post(link, operation, header, std::as_bytes(std::span(&operation->mapped, 1)));
}

Started UcxTransport::post(UcxLink& link, UcxOperation* operation, std::span<const std::byte> header,
                           std::span<const std::byte> bytes) {
  if (link.departed && !operation->answers_goodbye()) return fail(operation, UCS_ERR_NOT_CONNECTED);
  if (!link.endpoint && link.failure == UCS_OK) open_endpoint(link);
  if (link.failure != UCS_OK) return fail(operation, link.failure);
  operation->header = header;
  operation->bytes = bytes;
  if (!link.is_open() && !operation->is_hello()) {
    link.put_off.push_back(operation);
    return Started::Pending;
  }
  submit(link, operation);
  return started(operation);
}

void UcxTransport::submit(UcxLink& link, UcxOperation* operation) {
  ucp_request_param_t parameters;
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS |
                            UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  parameters.flags = operation->kind == UcxKind::Descriptor ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  parameters.memory_type = UCS_MEMORY_TYPE_HOST;
  parameters.cb.send = SendCallbacks::sent;
  parameters.user_data = operation;
  const bool outer = std::exchange(calling_, true);
  void* result =
      ucp_am_send_nbx(link.endpoint, ucx_message_id(rank_, operation->kind), operation->header.data(),
                      operation->header.size(), operation->bytes.data(), operation->bytes.size(), &parameters);
  calling_ = outer;
  note(operation, result);
}

Started UcxTransport::send_to_itself(UcxOperation* operation, std::span<const std::byte> header,
                                     std::span<const std::byte> bytes) {
  UcxOwnMessage& message = own_.emplace_back();
  message.operation = operation;
  message.header.assign(header.begin(), header.end());
  message.bytes = bytes;
  if (operation->kind == UcxKind::Descriptor) return Started::Pending;
  message.copy.assign(bytes.begin(), bytes.end());
  message.bytes = message.copy;
  return Started::Done;
}

Started UcxTransport::fetch(Descriptor descriptor, std::byte* to, Token token) {
  auto* waiting = static_cast<UcxWaiting*>(descriptor.handle);
  UcxLink& link = links_[waiting->from];
  if (!waiting->at_sender || waiting->bytes == 0) {
    std::copy(waiting->here.begin(), waiting->here.end(), to);
    link.counters.payload_received += waiting->bytes;
    discard(descriptor);
    return Started::Done;
  }
  UcxOperation* operation = new_operation(waiting->from, UcxKind::Descriptor, token);
  if (link.failure != UCS_OK) {
    discard(descriptor);
    return fail(operation, link.failure);
  }
  operation->fetched = waiting->bytes;
  ucp_request_param_t parameters;
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  parameters.memory_type = UCS_MEMORY_TYPE_HOST;
  parameters.cb.recv_am = SendCallbacks::fetched;
  parameters.user_data = operation;
  void* at_sender = waiting->at_sender;
  const std::size_t bytes = waiting->bytes;
  waiting->at_sender = nullptr;
  let_go(waiting);
  const bool outer = std::exchange(calling_, true);
  void* result = ucp_am_recv_data_nbx(ucx_.worker.get(), at_sender, to, bytes, &parameters);
  calling_ = outer;
  note(operation, result);
  return started(operation);
}

/// Records what UCX's function that starts an operation has returned.
void UcxTransport::note(UcxOperation* operation, void* result) {
  operation->returned = true;
  if (UCS_PTR_IS_PTR(result)) return;
  operation->ended = true;
  operation->status = UCS_PTR_STATUS(result);
}

/// Says whether an operation that was just started is done or pending.
Started UcxTransport::started(UcxOperation* operation) {
  if (!operation->is_over()) return Started::Pending;
  if (operation->status != UCS_OK) return fail(operation, operation->status);
  links_[operation->peer].counters.payload_received += operation->fetched;
  release(operation);
  return Started::Done;
}

Started UcxTransport::fail(UcxOperation* operation, int status) {
  operation->status = status;
  operation->ended = true;
  ended_.push_back(operation);
  return Started::Pending;
}

void UcxTransport::on_end(UcxOperation* operation, int status) {
  const UcxLink& link = links_[operation->peer];
  operation->status = status;
  operation->ended = true;
  if (operation->kind == UcxKind::Mapped && !operation->is_over()) {  // does the peer still read it?
    operation->status = link.departed ? static_cast<int>(UCS_ERR_NOT_CONNECTED) : link.failure;
  }
  if (!operation->returned || !operation->is_over()) return;
  calling_ ? ended_.push_back(operation) : report(operation);
}

void UcxTransport::release(UcxOperation* operation) {
  UcxLink& link = links_[operation->peer];
  --link.pending;
  if (operation->answers_goodbye()) link.owed = false;
  operation->owner = nullptr;
  operations_.give_back(operation);
}

void UcxTransport::report(UcxOperation* operation) {
  const Token token = operation->token;
  const int status = operation->status;
  const bool silent = operation->is_silent() || closing_;
  if (status == UCS_OK) links_[operation->peer].counters.payload_received += operation->fetched;
  release(operation);
  if (!silent) receiver_->on_complete(token, status == UCS_OK ? Status() : ucx_error(status));
}

bool UcxTransport::report_ended() {
  if (ended_.empty()) return false;
  const std::size_t count = ended_.size();  // a report may add more
  for (std::size_t i = 0; i < count; ++i) report(ended_[i]);
  ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
  return true;
}

bool UcxTransport::progress() {
  if (!receiver_ || !ucx_.worker) return false;
  bool moved = report_ended();
  if (!own_.empty()) moved |= deliver_own();
  progressing_ = true;
  moved |= ucp_worker_progress(ucx_.worker.get()) != 0;
  progressing_ = false;
  while (!discarded_.empty()) {
    let_go(discarded_.back());
    discarded_.pop_back();
  }
  for (const auto& [link, answer] : answers_) tell(*link, answer);
  answers_.clear();
  if (!connections_.empty() || !failures_.empty() || !goodbyes_.empty()) look_after_links();
  return moved;
}

bool UcxTransport::arm() {
  if (!ended_.empty() || !own_.empty()) return false;
  if (!connections_.empty() || !failures_.empty() || !goodbyes_.empty()) return false;
  return ucp_worker_arm(ucx_.worker.get()) == UCS_OK;
}

}  // namespace lacuna
