#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/engine/computing.hpp"
#include "runtime/engine/executor_options.hpp"
#include "runtime/engine/failures.hpp"
#include "runtime/engine/landings.hpp"
#include "runtime/engine/link.hpp"
#include "runtime/engine/operations.hpp"
#include "runtime/engine/stages.hpp"
#include "runtime/engine/steps.hpp"
#include "runtime/observe/flight_record.hpp"
#include "transports/transport.hpp"

namespace lacuna::runtime {

/// Takes the bytes of messages to where their steps want them: from the transport, from a landing, from where they lie
/// at their sender, or by a fetch. Its owner locks.
class Incoming {
 public:
  /// What it works with. All of it outlives the object.
  struct Engine {
    const ExecutorOptions& options;
    Rank rank = 0;
    const kernels::Backend& kernels;
    Transport& transport;
    Links& links;
    Operations& operations;
    MemoryPools& memory;
    Landings& landings;
    std::vector<Descriptor>& discards;  ///< descriptors that nobody wants
    Stages& stages;
    Computing& computing;
    const ServedDevice& device;
    FlightRecord& record;
    Failures& failures;
    Steps& steps;
  };

  explicit Incoming(const Engine& engine);

  /// Starts a receive.
  void start(ActivePart& part, StepId step);
  /// Takes bytes of a message that lie here. Returns true if a work does that, which lets go of the holder in the end.
  bool take(const StepOf& step, std::size_t offset, std::span<const std::byte> bytes, const Holder& holder);
  /// A descriptor of bytes that this started step wants has come.
  void take(const StepOf& step, std::size_t offset, Descriptor descriptor);
  /// A work has taken so many bytes of a message to where they belong.
  void end_work(const StepOf& step, std::size_t bytes) { note_taken(*step.part, step.step, bytes); }
  /// Lets go of what held a work's bytes. The work has taken so many of them to where they belong, or its run has
  /// failed.
  void release(const Holder& holder, std::size_t bytes);
  /// Starts fetches from this peer, as many as the window and the slots allow.
  void start_fetches(Rank peer);
  /// The transport has finished a fetch, if `fetched`, or has given it up.
  void end(Operation& operation, bool fetched);
  /// Gives credit for an eager fragment of so many bytes that has been taken.
  void give_credit(Rank sender, std::size_t bytes);
  /// Removes what these runs still have to fetch.
  void remove_if(const std::function<bool(const Run& run)>& belongs);
  /// The transport takes no descriptors back any more.
  void abandon() { may_release_ = false; }

 private:
  void take_landing(ActivePart& part, StepId step);
  std::byte* place_of(ActivePart& part, const Step& step, const StepState& state);
  void note_taken(ActivePart& part, StepId step, std::size_t bytes);
  void end_use(Landing& landing);
  void give_back_slot(std::byte* slot, std::size_t bytes, MemoryKind memory);
  bool start_fetch(Rank peer, Fifo<Fetch>& lane);
  void read_in_place(const Fetch& fetch);

  const Engine engine_;
  const std::uint64_t credit_threshold_;
  std::uint32_t slots_in_use_ = 0;
  bool waiting_for_slot_ = false;
  bool may_release_ = true;
};

}  // namespace lacuna::runtime
