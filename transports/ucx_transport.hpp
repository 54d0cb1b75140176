#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transports/transport.hpp"
#include "transports/ucx_operation.hpp"
#include "transports/ucx_worker.hpp"

namespace lacuna {

/// The transport that make_ucx() makes and explains.
class UcxTransport final : public Transport {
 public:
  UcxTransport(UcxWorker ucx, std::uint64_t host) : host_(host), ucx_(std::move(ucx)) {}
  ~UcxTransport() override;

  std::string_view name() const override { return "ucx"; }
  std::vector<std::byte> address() const override;
  Status connect(std::vector<std::vector<std::byte>> addresses, Receiver& receiver) override;
  Status viable(const Memory& memory) const override;
  std::size_t eager_limit() const override { return (ucx_.largest_fragment - max_header_bytes) / 64 * 64; }

  Started send(Peer to, std::span<const std::byte> header, std::span<const std::byte> bytes, Delivery delivery,
               Token token) override;
  bool is_mapped_by(Peer peer, std::span<const std::byte> bytes) override;
  Started fetch(Descriptor descriptor, std::byte* to, Token token) override;
  void release(Descriptor descriptor) override;
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
  // UCX calls the functions of these.
  struct SendCallbacks;
  struct ReceiveCallbacks;
  struct LinkCallbacks;

  // Sends and fetches (ucx.cpp)
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

  // Messages and descriptors that arrive (ucx_receive.cpp)
  int set_handlers();
  bool arrived(UcxLink& link, UcxKind kind, const UcxArrival& message);
  void control_arrived(UcxLink& link, const UcxControl& control);
  bool show(UcxLink& link, const UcxArrival& message);
  void let_go(UcxWaiting* waiting);
  bool deliver_own();

  // Memory that peers map (ucx_mapped.cpp)
  std::optional<MappableHeap::Place> place_for(UcxLink& link, std::span<const std::byte> bytes);
  void offer_arrived(UcxLink& link, const UcxControl& offer);
  void answer_arrived(UcxLink& link, const UcxControl& answer);
  void mapped_arrived(UcxLink& link, const UcxArrival& message);
  void end_arrived(UcxLink& link, std::uint64_t name);
  void end_mapped_sends(UcxLink& link, int status);

  // Endpoints, failures and goodbyes (ucx_links.cpp)
  void note_failure(UcxLink& link, int status);
  void note_no_memory(UcxLink& link);
  /// Calls `body` in a callback of UCX, through which nothing may be thrown. If memory runs out, the link fails
  /// instead.
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
  void tell(UcxLink& link, const UcxControl& control);
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

  const std::uint64_t host_;
  std::vector<std::vector<std::byte>> addresses_;
  std::vector<UcxLink> links_;
  UcxPool<UcxOperation> operations_;
  UcxPool<UcxWaiting> waiting_;
  Receiver* receiver_ = nullptr;
  Peer rank_ = 0;
  bool calling_ = false;      // send() or fetch() is calling UCX, so nothing may be reported
  bool progressing_ = false;  // UCX is making progress, and may still look at a descriptor that it has just shown
  bool closing_ = false;
  std::vector<UcxOperation*> ended_;  // the next progress() reports these
  std::vector<UcxOwnMessage> own_;
  std::vector<UcxWaiting*> discarded_;                    // descriptors discarded while UCX makes progress
  std::vector<UcxLink*> failures_;                        // links that have just failed
  std::vector<UcxLink*> goodbyes_;                        // links whose goodbye is to be answered
  std::vector<UcxLink*> connections_;                     // links over which a side has just made its connection
  std::vector<std::pair<UcxLink*, UcxControl>> answers_;  // what is to be told once UCX has made progress
  UcxWorker ucx_;                                         // is destroyed first, because it may refer to operations
};

/// An error with the text of UCX and the code PeerFailed or Transport. `status` is a ucs_status_t.
Status ucx_error(int status);

}  // namespace lacuna
