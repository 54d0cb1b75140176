#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/link.hpp"
#include "runtime/graph/graph.hpp"
#include "runtime/values/scale.hpp"
#include "runtime/values/status.hpp"
#include "transports/transport.hpp"

namespace lacuna::runtime {

/// A compute step with all that it needs, so that it can be carried out without the executor's lock.
struct Work {
  StepOf step;
  StepKind kind = StepKind::Copy;
  Scale scale;                         ///< of a copy
  const KernelStep* kernel = nullptr;  ///< of a kernel's step
  std::optional<PartView> part;        ///< likewise
  std::vector<Extent> reads, writes;   ///< of others, the one that they have
  std::vector<std::uint64_t> uses, defines;
  MeasureValues measures;
  Status status;         ///< once it has ended
  Work* next = nullptr;  ///< for who keeps it meanwhile

  std::size_t bytes() const;
};

/// What a copy, a reduction or a clear does.
void carry_out(StepKind kind, Scale scale, const Extent& to, const Extent& from);
/// Any thread.
void carry_out(Work& work);

/// Where compute steps are carried out. A step ends like a send: at once, or later.
class Compute {
 public:
  virtual ~Compute() = default;

  // Under the executor's lock.

  /// Is a step on so many bytes given to start()? Others the executor carries out itself, at once.
  virtual bool takes(std::size_t bytes) const = 0;
  /// Done: it has ended. Pending: ended() names it later; until then it and what it refers to stay.
  virtual Started start(Work& work) = 0;
  /// One that has ended, or null.
  virtual Work* ended() = 0;
  /// Has some thread anything to do before more can end?
  virtual bool wants_turn() const = 0;

  /// Goes on with what is pending, without the lock, on any thread. True if it did anything.
  virtual bool advance() = 0;
};

/// Host kernels: a long step runs without the lock on a thread that makes progress, so that others can.
std::unique_ptr<Compute> host_compute();

}  // namespace lacuna::runtime
