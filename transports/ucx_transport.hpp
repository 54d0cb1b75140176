#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "transports/transport.hpp"
#include "transports/ucx_operation.hpp"
#include "transports/ucx_worker.hpp"

namespace lacuna {

/// The class behind make_ucx(); see there.
class UcxTransport final : public Transport {
 public:
  explicit UcxTransport(UcxWorker ucx) : ucx_(std::move(ucx)) {}
  ~UcxTransport() override;

  std::string_view name() const override { return "ucx"; }
  std::vector<std::byte> address() const override { return ucx_.address; }
  Status connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) override;
  Status viable(const Memory& memory) const override;
  std::size_t eager_limit() const override { return (ucx_.largest_fragment - max_header_bytes) / 64 * 64; }

  Started send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Delivery delivery,
               Token token) override;
  Started fetch(Descriptor descriptor, std::byte* to, Token token) override;
  void discard(Descriptor descriptor) override;
  bool progress() override;

  int event_fd() const override { return ucx_.event_fd; }
  bool arm() override;
  Counters counters(Peer peer) const override { return peer < links_.size() ? links_[peer].counters : Counters(); }
  using Transport::close;
  Status close(std::chrono::milliseconds deadline, const std::function<bool()>& pause, Ending ending) override;
  Access abandon() override;

 private:
  using Clock = std::chrono::steady_clock;
  struct SendCallbacks;  // what UCX calls
  struct ReceiveCallbacks;
  struct LinkCallbacks;

  // ucx.cpp: sends and fetches
  Started post(UcxLink& link, UcxOperation* operation, std::span<const std::byte> header,
               std::span<const std::byte> bytes);
  void submit(UcxLink& link, UcxOperation* operation);
  Started send_to_itself(UcxOperation* operation, std::span<const std::byte> header, std::span<const std::byte> bytes);
  UcxOperation* new_operation(Peer peer, UcxKind kind, Token token);
  static void note(UcxOperation* operation, void* result);
  Started started(UcxOperation* operation);
  Started fail(UcxOperation* operation, int status);
  void on_end(UcxOperation* operation, int status);
  void release(UcxOperation* operation);
  void report(UcxOperation* operation);
  bool report_ended();

  // ucx_receive.cpp: messages and descriptors
  int set_handlers();
  bool arrived(UcxLink& link, UcxKind kind, const UcxArrival& message);
  void control_arrived(UcxLink& link, UcxKind kind);
  bool show(UcxLink& link, const UcxArrival& message);
  void let_go(UcxWaiting* waiting);
  bool deliver_own();

  // ucx_links.cpp: endpoints, failures, goodbyes
  void note_failure(UcxLink& link, int status);
  void note_no_memory(UcxLink& link);
  /// Calls `body` for UCX, through whose frames nothing may be thrown: without memory the link is given up instead.
  template <class Body>
  void shielded(UcxLink& link, const Body& body) noexcept {
    try {
      body();
    } catch (const std::bad_alloc&) {
      note_no_memory(link);
    }
  }
  void open_endpoint(UcxLink& link);
  void close_endpoint(UcxLink& link);
  void look_after_links();
  void greet(UcxLink& link);
  void give_up(UcxLink& link, int status);
  void tell(UcxLink& link, UcxKind kind);
  enum class Waited : std::uint8_t { Done, TooLong, Paused };
  template <class Done>
  Waited progress_until(Clock::time_point until, const std::function<bool()>& pause, Done done);
  static bool is_through(const UcxLink& link);
  void let_go_of_everything();
  Waited flush_endpoints(Clock::time_point until, const std::function<bool()>& pause);
  void settle();
  void release_ucx();
  Status unanswered() const;

  // ucx_access.cpp
  Access access() const;

  std::vector<std::vector<std::byte>> addresses_;
  std::vector<UcxLink> links_;
  UcxPool<UcxOperation> operations_;
  UcxPool<UcxWaiting> waiting_;
  Receiver* receiver_ = nullptr;
  Peer rank_ = 0;
  bool calling_ = false;      // UCX, from send() or fetch(): nothing may be reported
  bool progressing_ = false;  // UCX may still look at the descriptor that it has just shown
  bool closing_ = false;
  std::vector<UcxOperation*> ended_;  // to be reported by the next progress()
  std::vector<UcxOwnMessage> own_;
  std::vector<UcxWaiting*> discarded_;  // while progressing
  std::vector<UcxLink*> failures_;      // endpoints that UCX gave up
  std::vector<UcxLink*> goodbyes_;      // to be answered
  std::vector<UcxLink*> connections_;   // made by either side
  UcxWorker ucx_;                       // goes first: it may refer to operations
};

/// PeerFailed or Transport, with UCX's text. `status` is a ucs_status_t.
Status ucx_error(int status);

}  // namespace lacuna
