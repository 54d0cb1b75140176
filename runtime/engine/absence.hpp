#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/values/clock.hpp"

namespace lacuna::runtime {

/// How long all callers have been elsewhere while calls were unfinished. Without a progress thread nothing moves then.
/// As long as that may be what a wait takes longer than it must. All times are in ticks. Its owner locks.
class Absence {
 public:
  /// A caller starts a call. `unfinished` says whether there were unfinished calls before.
  void start_call(std::uint64_t now, bool unfinished) {
    come(now);
    if (!unfinished) length_ = 0;
  }
  /// A caller makes progress, so that what it was elsewhere before does no harm.
  void make_progress(std::uint64_t now) {
    come(now);
    length_ = 0;
  }
  void begin_wait(std::uint64_t now) {
    come(now);
    ++waiting_;
  }
  /// A wait has taken so long. Returns how much of that a progress thread could have saved.
  std::uint64_t end_wait(std::uint64_t now, std::uint64_t waited) {
    --waiting_;
    left_ = now;
    const std::uint64_t saved = std::min(waited, length_);
    length_ -= saved;
    return saved;
  }

 private:
  void come(std::uint64_t now) {
    if (waiting_ == 0) length_ += ticks_between(left_, now);
    left_ = now;
  }

  std::uint64_t left_ = 0;    // when a caller was here last
  std::uint64_t length_ = 0;  // of the absence that no wait has paid for
  std::uint32_t waiting_ = 0;
};

}  // namespace lacuna::runtime
