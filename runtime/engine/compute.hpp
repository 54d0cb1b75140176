#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/backend.hpp"
#include "runtime/engine/link.hpp"
#include "runtime/graph/graph.hpp"
#include "runtime/values/scale.hpp"
#include "runtime/values/status.hpp"
#include "transports/transport.hpp"

namespace lacuna::runtime {

/// What holds bytes of a message until they are in their place.
struct Holder {
  Landing* landing = nullptr;  ///< the bytes are some of what waits there
  std::byte* slot = nullptr;   ///< the bytes were fetched into this slot
  bool is_lent = false;        ///< the transport lends the bytes until its handler returns: a work gets a copy
  Rank sender = 0;             ///< of lent bytes: who gets credit for them
  std::byte* copy = nullptr;   ///< of lent bytes, for a work
};

/// What a step computes that is no kernel: a copy, a reduction, a clear, or the end of a receive.
struct Computation {
  StepKind kind = StepKind::Copy;
  Scale scale{};   ///< of a copy, and of a receive that reduces
  Extent to{};     ///< what is written
  Extent from{};   ///< what is read: of a receive, the bytes that have come
  Extent local{};  ///< of a receive that reduces: the own term

  std::size_t bytes() const { return to.bytes() + from.bytes() + local.bytes(); }
};
/// Does it, at once. Any thread.
void carry_out(const kernels::Backend& backend, const Computation& computation);

/// A computation with all that it needs, so that it can be carried out without the executor's lock.
struct Work {
  StepOf step;
  const kernels::Backend* backend = nullptr;  ///< by which it computes
  Computation computation{};                  ///< if the step is no kernel
  Holder holder{};                            ///< of a receive: what holds the bytes
  const KernelStep* kernel = nullptr;         ///< if the step is a kernel; then also the following members
  std::optional<PartView> part;
  std::vector<Extent> reads, writes;
  std::vector<std::uint64_t> uses, defines;
  MeasureValues measures;
  Status status;         ///< of a kernel, once it has ended
  Work* next = nullptr;  ///< for who keeps it meanwhile

  std::size_t bytes() const;
};

/// Any thread.
void carry_out(Work& work);

/// Where computations are carried out. A work ends like a send: at once, or later.
class Compute {
 public:
  virtual ~Compute() = default;

  // Under the executor's lock.

  /// Is a computation on so many bytes given to start()? The executor carries out others itself, at once.
  virtual bool takes(std::size_t bytes) const = 0;
  /// Done: it has ended. Pending: ended() returns it later. Until then the work and what it refers to stay.
  virtual Started start(Work& work) = 0;
  /// One that has ended, or null. After null, event_fd() is not readable until another one ends.
  virtual Work* ended() = 0;
  /// Has some thread anything to do before more can end?
  virtual bool wants_turn() const = 0;

  // Of works that end without a turn of a thread of lacuna, as on a device.

  /// A descriptor, or -1 if there is none. After arm() has returned true it becomes readable once a work has ended, and
  /// wakes whoever sleeps.
  virtual int event_fd() const { return -1; }
  /// Asks for an event. False if ended() has something already.
  virtual bool arm() { return true; }

  /// Goes on with what is pending, without the lock, on any thread. True if it did anything.
  virtual bool advance() = 0;
};

/// Host kernels: a long computation runs without the lock on a thread that makes progress, so that others can.
std::unique_ptr<Compute> host_compute();

}  // namespace lacuna::runtime
