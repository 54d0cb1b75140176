#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/engine/computing.hpp"
#include "runtime/engine/executor_options.hpp"
#include "runtime/engine/failures.hpp"
#include "runtime/engine/link.hpp"
#include "runtime/engine/operations.hpp"
#include "runtime/engine/run_tracer.hpp"
#include "runtime/engine/stages.hpp"
#include "runtime/engine/steps.hpp"
#include "runtime/observe/flight_record.hpp"
#include "transports/transport.hpp"

namespace lacuna::runtime {

/// Sends messages: those of steps, credit, and statements. A message waits until the window of its peer has room. Data
/// of a device go through stages if the transport does not take them. Its owner locks.
class Outgoing {
 public:
  /// What it works with. All of it outlives the object.
  struct Engine {
    const ExecutorOptions& options;
    Transport& transport;
    Links& links;
    Operations& operations;
    Stages& stages;
    Computing& computing;
    const ServedDevice& device;
    FlightRecord& record;
    RunTracer* tracer = nullptr;  ///< null: no trace is made
    Failures& failures;
    Steps& steps;
  };

  explicit Outgoing(const Engine& engine);

  /// Starts a send.
  void start(ActivePart& part, StepId step);
  /// Hands messages that wait for this peer to the transport, as many as its window takes.
  void start_sends(Rank peer);
  /// The transport has finished a send, if `sent`, or has given it up.
  void end(Operation& operation, bool sent);
  /// The work that copies a range of a send to its stage has ended.
  void end_stage(const Work& work);
  /// Removes what these runs still have to send.
  void remove_if(const std::function<bool(const Run& run)>& belongs);

  /// Returns credit to the peer if it has much to get.
  void return_credit(Rank peer);
  /// Sends a message that does nothing but return credit and wake a peer that sleeps.
  void send_credit(Rank peer);
  /// Sends what this rank has posted as this call. `asks`: the peer is to answer with its own.
  void send_statement(Client& communicator, std::uint32_t run, Rank peer, bool asks);

  /// The longest eager message of the transport that this rank sends.
  std::size_t fragment_bytes() const { return fragment_bytes_; }
  std::uint64_t credit_threshold() const { return credit_threshold_; }
  std::uint64_t descriptor_messages() const { return descriptor_messages_; }
  std::uint64_t mapped_messages() const { return mapped_messages_; }

 private:
  bool is_read_in_place(Rank peer, std::span<const std::byte> bytes) const;
  bool may_be_eager(const Link& to, std::size_t bytes) const;
  void send_message(const Sending& next);
  void note_sent(ActivePart& part, StepId step, std::size_t bytes, Delivery delivery, bool mapped);
  void send_range(const Sending& of, std::span<const std::byte> range, std::size_t bytes, Delivery delivery);
  bool hand_over(Operation& operation, std::span<const std::byte> bytes, Delivery delivery);
  void stage_more(ActivePart& part, StepId step);
  void end_use(Stage& stage, const StepOf& step);

  const Engine engine_;
  const std::size_t fragment_bytes_;
  const std::uint64_t credit_threshold_;
  const std::uint32_t most_ranges_waiting_;
  std::uint64_t descriptor_messages_ = 0;
  std::uint64_t mapped_messages_ = 0;
};

}  // namespace lacuna::runtime
