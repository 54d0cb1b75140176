#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/clients.hpp"
#include "runtime/engine/deadlines.hpp"
#include "runtime/engine/failures.hpp"
#include "runtime/engine/landings.hpp"
#include "runtime/engine/scheduler.hpp"
#include "runtime/engine/statements.hpp"
#include "transports/transport.hpp"

namespace lacuna::runtime {

/// Takes what the transport brings: it reads headers, and finds out where each message belongs. All of it may run
/// inside the transport's progress. It neither sends nor fetches, but asks for it. Its owner locks.
class Arrivals final : public Receiver {
 public:
  /// What it works with. All of it outlives the object.
  struct Engine {
    std::uint64_t credit_bytes = 0;  ///< that a peer has at first
    const Clients& communicators;
    Links& links;
    Landings& landings;
    std::vector<Descriptor>& discards;  ///< descriptors that nobody wants
    FlightRecord& record;
    Failures& failures;
    Deadlines& deadlines;
    Scheduler& scheduler;
    Statements& statements;
  };

  explicit Arrivals(const Engine& engine) : engine_(engine) {}

  void on_message(Peer from, std::span<const std::byte> header, std::span<const std::byte> bytes) override;
  void on_descriptor(Peer from, std::span<const std::byte> header, Descriptor descriptor) override;
  void on_complete(Token token, const Status& status) override;
  void on_peer_failure(Peer peer, const Status& status) override;

  std::uint64_t duplicate_fragments() const { return duplicate_fragments_; }

 private:
  std::optional<MessageHeader> read_header(Rank from, std::span<const std::byte> header);
  void take_credits(Rank from, std::uint64_t credits);
  void distrust(Rank from, std::string what);
  Client* addressee(const MessageHeader& header) const;
  void take_eager(Client& communicator, const Arrival& message, std::span<const std::byte> bytes);
  bool take_descriptor(Client& communicator, const Arrival& message, Descriptor descriptor);
  Place place(Client& communicator, const Arrival& message);
  void violation(Client& communicator, const Arrival& message, std::string text);
  void operation_failed(const Operation& operation, const Status& status);

  const Engine engine_;
  std::uint64_t duplicate_fragments_ = 0;
};

}  // namespace lacuna::runtime
