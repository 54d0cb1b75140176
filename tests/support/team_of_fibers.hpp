#pragma once

#include <cstddef>

namespace lacuna::test {

/// Plays the threads of a team on the calling thread: each has a stack of its own, and they take turns. At a barrier
/// the next one goes on, in an order that is drawn anew each time. So work that relies on what another thread of the
/// team does, without a barrier between, becomes wrong. Thread rule: any thread.
class TeamOfFibers {
 public:
  using Body = void(const void* on, std::size_t thread);

  /// Calls body(on, thread) for each thread of the team. The process ends with a line if some threads wait at a barrier
  /// to which others never come. With a sanitizer, which knows no fibers, the team has one thread.
  static void run(Body* body, const void* on);
  /// Waits for the other threads of the team. Must be called by a body.
  static void barrier();
  /// Memory for the teams of the calling thread, one after another. It is aligned to 64 bytes.
  static std::byte* scratch(std::size_t bytes);
  /// How many threads a team has.
  static std::size_t threads();

  /// Returns a number below `bound`, which must not be 0. Each thread of the process draws the same sequence.
  static std::size_t draw(std::size_t bound);
};

}  // namespace lacuna::test
