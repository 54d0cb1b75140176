#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/backend.hpp"
#include "runtime/engine/link.hpp"
#include "runtime/graph/graph.hpp"
#include "runtime/values/own_reduction.hpp"
#include "runtime/values/scale.hpp"
#include "runtime/values/status.hpp"
#include "transports/transport.hpp"

namespace lacuna::kernels {
struct Event;
}

namespace lacuna::runtime {

struct Stage;

/// What holds bytes of a message until they lie where they belong.
struct Holder {
  Landing* landing = nullptr;            ///< the bytes wait in this landing
  std::byte* slot = nullptr;             ///< the bytes were fetched into this slot
  Descriptor descriptor{};               ///< the bytes are read where they wait at their sender
  MemoryKind memory = MemoryKind::Host;  ///< of the slot, or of the copy
  bool is_lent = false;                  ///< the transport lends the bytes until its handler returns
  Rank sender = 0;                       ///< of lent bytes: the rank that gets credit for them
  std::byte* copy = nullptr;             ///< the copy that a work reads if the bytes are lent, or out of its reach
  Stage* stage = nullptr;                ///< of a send: the room to which the bytes go
};

/// What a step that is no kernel computes: a copy, a reduction, a clear, or the end of a receive.
struct Computation {
  StepKind kind = StepKind::Copy;
  SumScale scale{};          ///< of a receive that reduces; of a copy, only that of the sum
  Extent to{};               ///< what is written
  Extent from{};             ///< what is read; a receive reads the bytes that have come
  Extent local{};            ///< of a receive that reduces: this rank's own term
  OwnReduction own{};        ///< of the reduction Own: what the program computes
  bool past_caches = false;  ///< of a receive that copies: its call's data are larger than the caches

  std::size_t bytes() const { return to.bytes() + from.bytes() + local.bytes(); }
};
/// Carries out the computation at once. Any thread may call this.
void carry_out(const kernels::Backend& backend, const Computation& computation);

/// A computation with all that it needs, so that it can be carried out without the executor's lock.
struct Work {
  StepOf step;
  const kernels::Backend* backend = nullptr;  ///< carries out the computation
  kernels::Event* after = nullptr;            ///< of a call with data on a device: it begins once this has passed
  Computation computation{};                  ///< if the step is no kernel
  Holder holder{};                            ///< of a message: what holds the bytes
  const KernelStep* kernel = nullptr;         ///< if the step is a kernel; then the members below are used too
  std::optional<PartView> part;
  std::vector<Extent> reads, writes;
  std::vector<std::uint64_t> uses, defines;
  MeasureValues measures;
  Status status;         ///< once it has ended: what a kernel has found wrong, or a device
  Work* next = nullptr;  ///< the next work of the queue that holds this one

  std::size_t bytes() const;
};

/// Carries out the work at once. Any thread may call this.
void carry_out(Work& work);

/// Where computations are carried out. A work ends like a send: at once, or later.
class Compute {
 public:
  virtual ~Compute() = default;

  // These functions are called under the executor's lock.

  /// Is a computation on so many bytes to be given to start()? If not, the executor carries it out itself, at once.
  virtual bool takes(std::size_t bytes) const = 0;
  /// Starts a work. Done: it has ended. Pending: ended() returns it later, and until then the work and what it refers
  /// to must stay.
  virtual Started start(Work& work) = 0;
  /// Returns a work that has ended, or null. After null, event_fd() is not readable until another work ends.
  virtual Work* ended() = 0;
  /// Must a thread call advance() before more works can end?
  virtual bool wants_turn() const = 0;

  // These functions are for works that end without a thread of lacuna, as on a device.

  /// Returns a descriptor, or -1 if there is none. After arm() has returned true, it becomes readable once a work has
  /// ended, and wakes a thread that sleeps on it.
  virtual int event_fd() const { return -1; }
  /// Asks for an event. Returns false if ended() has a work to return already.
  virtual bool arm() { return true; }

  /// Goes on with pending works. Any thread may call this, without the lock. Returns true if it did anything.
  virtual bool advance() = 0;
};

/// Returns what computes on the host. A thread that makes progress carries out long computations without the lock, so
/// that other threads can take the lock meanwhile.
std::unique_ptr<Compute> host_compute();

}  // namespace lacuna::runtime
