#pragma once

#include "runtime/engine/link.hpp"
#include "runtime/engine/operation.hpp"
#include "runtime/engine/pool.hpp"
#include "runtime/engine/steps.hpp"

namespace lacuna::runtime {

/// The sends and fetches that the transport has not finished. They use the buffers of their runs. Its owner locks.
class Operations {
 public:
  /// All that the arguments refer to must outlive the object.
  Operations(Links& links, Steps& steps) : links_(links), steps_(steps) {}

  /// Returns an operation with this peer that belongs to no step and counts no bytes.
  Operation& take(Rank peer) {
    Operation& operation = *pool_.take();
    operation.step = {};
    operation.peer = peer;
    operation.bytes = operation.on_wire = 0;
    operation.slot = nullptr;
    operation.stage = nullptr;
    operation.fetch = false;
    return operation;
  }
  void give_back(Operation& operation) { pool_.give_back(&operation); }
  /// Does what the ends of sends and fetches have in common. Returns true if the step goes on.
  bool end(Operation& operation, bool well);

  std::size_t in_use() const { return pool_.in_use(); }
  template <class Visit>
  void each_taken(Visit visit) {
    pool_.each_taken(visit);
  }

 private:
  Links& links_;
  Steps& steps_;
  ObjectPool<Operation> pool_;
};

}  // namespace lacuna::runtime
