#include <fmt/format.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <string>
#include <utility>

#include "transports/ucx_transport.hpp"

namespace lacuna {
namespace {

constexpr std::chrono::milliseconds settling{100};  // the longest time for UCX to settle
constexpr int idle_rounds = 100;                    // after so many rounds without progress UCX has settled

}  // namespace

struct UcxTransport::LinkCallbacks {
  static void failed(void* user, ucp_ep_h, ucs_status_t status) {
    auto* link = static_cast<UcxLink*>(user);
    link->owner->note_failure(*link, status);
  }
  static void connected(void* request, ucs_status_t status, void* user) {
    if (request) ucp_request_free(request);
    auto* link = static_cast<UcxLink*>(user);
    if (status != UCS_OK) {
      if (link->failure == UCS_OK) failed(link, nullptr, status);
      return;
    }
    link->reaches = true;
    link->owner->connections_.push_back(link);
  }
};

void UcxTransport::note_failure(UcxLink& link, int status) {
  if (std::exchange(link.failure, status) == UCS_OK) failures_.push_back(&link);
}

void UcxTransport::note_no_memory(UcxLink& link) { note_failure(link, UCS_ERR_NO_MEMORY); }

/// Makes the endpoint of a link. If that fails, the failure is in the link.
void UcxTransport::open_endpoint(UcxLink& link) {
  ucp_ep_params_t parameters{};
  parameters.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = reinterpret_cast<const ucp_address_t*>(addresses_[link.peer].data() + sizeof host_);
  parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler = {.cb = LinkCallbacks::failed, .arg = &link};
  link.met = true;
  const ucs_status_t status = ucp_ep_create(ucx_.worker.get(), &parameters, &link.endpoint);
  if (status != UCS_OK) {
    link.endpoint = nullptr;
    return LinkCallbacks::failed(&link, nullptr, status);
  }
  ucp_request_param_t flush{};
  flush.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  flush.cb.send = LinkCallbacks::connected;
  flush.user_data = &link;
  void* request = ucp_ep_flush_nbx(link.endpoint, &flush);
  if (!UCS_PTR_IS_PTR(request)) LinkCallbacks::connected(nullptr, UCS_PTR_STATUS(request), &link);
}

/// Is called when one side has made its connection. Nothing but a hello is sent before both sides have made theirs. UCX
/// sends messages of its own to wire up endpoints before the first message that is not short, and so these never wait
/// for a connection. Up to 1.13, UCX aborts the process if the peer dies while one of them waits (an assertion in
/// ucp_request_send_state_ff()).
void UcxTransport::greet(UcxLink& link) {
  if (!link.endpoint && link.failure == UCS_OK && !link.departed) return open_endpoint(link);
  if (link.reaches && !std::exchange(link.greeted, true)) tell(link, {.word = UcxControl::Word::Hello});
  if (!link.is_open()) return;
  for (UcxOperation* operation : std::exchange(link.put_off, {})) {
    if (link.departed && !operation->answers_goodbye()) {
      static_cast<void>(fail(operation, UCS_ERR_NOT_CONNECTED));
      continue;
    }
    submit(link, operation);
    if (operation->is_over()) ended_.push_back(operation);
  }
}

/// Ends the sends that wait for the link, with this status.
void UcxTransport::give_up(UcxLink& link, int status) {
  for (UcxOperation* operation : std::exchange(link.put_off, {})) static_cast<void>(fail(operation, status));
}

/// Closes the endpoint at once. What is not sent yet is lost, and its operations end.
void UcxTransport::close_endpoint(UcxLink& link) {
  if (!link.endpoint) return;
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* request = ucp_ep_close_nbx(link.endpoint, &parameters);
  if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
  link.endpoint = nullptr;
}

void UcxTransport::look_after_links() {
  for (std::size_t i = 0; i < connections_.size(); ++i) greet(*connections_[i]);
  connections_.clear();
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    UcxLink& link = *failures_[i];
    close_endpoint(link);
    give_up(link, link.failure);
    end_mapped_sends(link, link.failure);
    if (!link.departed && !closing_) receiver_->on_peer_failure(link.peer, ucx_error(link.failure));
  }
  failures_.clear();
  for (std::size_t i = 0; i < goodbyes_.size(); ++i) {
    end_mapped_sends(*goodbyes_[i], UCS_ERR_NOT_CONNECTED);
    tell(*goodbyes_[i], {.word = UcxControl::Word::Heard});
  }
  goodbyes_.clear();
}

void UcxTransport::tell(UcxLink& link, const UcxControl& control) {
  UcxOperation* operation = new_operation(link.peer, UcxKind::Control, nullptr);
  operation->control = control;
  const Started told = post(link, operation, std::as_bytes(std::span(&operation->control, 1)), {});
  static_cast<void>(told);  // nobody waits for it
}

template <class Done>
UcxTransport::Waited UcxTransport::progress_until(Clock::time_point until, const std::function<bool()>& pause,
                                                  Done done) {
  while (!done()) {
    if (Clock::now() >= until) return Waited::TooLong;
    progress();
    if (!pause()) return Waited::Paused;
  }
  return Waited::Done;
}

/// Is there nothing left to tell this peer, and nothing to hear from it?
bool UcxTransport::is_through(const UcxLink& link) {
  if (!link.met || link.failure != UCS_OK) return true;
  return link.pending == 0 && (link.departed ? !link.owed : link.heard);
}

Status UcxTransport::close(std::chrono::milliseconds deadline, const std::function<bool()>& pause, Ending ending) {
  if (!ucx_.worker) return {};
  if (!receiver_) {  // never connected, so UCX must make no progress: messages of peers would find no handler
    release_ucx();
    return {};
  }
  const auto until = Clock::now() + deadline;
  closing_ = true;
  let_go_of_everything();
  Status status;
  if (deadline.count() > 0) {
    // A peer may be connecting for a call that has failed. Until `met`, such peers can show themselves, and get a
    // goodbye.
    const auto met = ending == Ending::Leave ? std::min(until - deadline / 8, Clock::now() + settling) : Clock::now();
    if (progress_until(met, pause, [] { return false; }) == Waited::Paused) return status;
    for (UcxLink& link : links_) {
      if (link.met && !link.departed && link.failure == UCS_OK) tell(link, {.word = UcxControl::Word::Goodbye});
    }
    const auto all_through = [this] { return std::all_of(links_.begin(), links_.end(), is_through); };
    Waited waited = progress_until(until - deadline / 8, pause, all_through);
    if (waited == Waited::TooLong) status = unanswered();
    if (waited == Waited::Done) waited = flush_endpoints(until, pause);
    if (waited == Waited::Paused) return status;
  }
  if (ending == Ending::Leave) {
    static_cast<void>(abandon());
    return status;
  }
  for (UcxLink& link : links_) {
    close_endpoint(link);
    give_up(link, UCS_ERR_CANCELED);
  }
  settle();
  if (operations_.in_use() > 0) static_cast<void>(abandon());
  release_ucx();
  return status;
}

void UcxTransport::release_ucx() {
  ucx_.worker.reset();
  ucx_.context.reset();
  ucx_.event_fd = -1;
}

void UcxTransport::let_go_of_everything() {
  for (UcxWaiting& waiting : waiting_.all()) {
    if (waiting.in_use) let_go(&waiting);
  }
  for (UcxOwnMessage& message : own_) release(message.operation);
  own_.clear();
}

/// Makes progress until TCP has taken all that the endpoints have for it.
UcxTransport::Waited UcxTransport::flush_endpoints(Clock::time_point until, const std::function<bool()>& pause) {
  ucp_request_param_t parameters{};
  void* request = ucp_worker_flush_nbx(ucx_.worker.get(), &parameters);
  if (!UCS_PTR_IS_PTR(request)) return Waited::Done;
  const Waited waited =
      progress_until(until, pause, [request] { return ucp_request_check_status(request) != UCS_INPROGRESS; });
  ucp_request_free(request);
  return waited;
}

/// Makes progress, in which UCX tears down its closed endpoints and ends their operations.
void UcxTransport::settle() {
  const auto until = Clock::now() + settling;
  for (int idle = 0; idle < idle_rounds && Clock::now() < until; ++idle) {
    if (ucp_worker_progress(ucx_.worker.get()) != 0) idle = 0;
  }
  report_ended();
}

/// Leaves UCX as it is until the process ends. Operations that wait for a silent peer can't be ended, and UCX 1.22
/// damages the heap if it is destroyed with such operations. Also, UCX must not look at its sockets once peers are
/// gone: up to 1.13 it aborts the process if a peer has asked for a connection and is gone before the answer
/// (openucx/ucx commit 9ccaf31bb6).
Access UcxTransport::abandon() {
  const Access left = access();
  static_cast<void>(ucx_.worker.release());
  static_cast<void>(ucx_.context.release());
  ucx_.event_fd = -1;
  return left;
}

Status UcxTransport::unanswered() const {
  std::string ranks;
  for (const UcxLink& link : links_) {
    if (!is_through(link)) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", link.peer);
  }
  return {Code::TimedOut, fmt::format("closing: no answer from rank {}; what it had not received is lost", ranks)};
}

UcxTransport::~UcxTransport() { static_cast<void>(close(std::chrono::milliseconds(0))); }

}  // namespace lacuna
