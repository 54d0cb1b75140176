#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/watch.hpp"
#include "runtime/values/clock.hpp"

namespace lacuna::runtime {

/// The way of messages from one rank to another.
struct Way {
  Rank from = 0;
  Rank to = 0;

  friend bool operator==(const Way&, const Way&) = default;
};

/// Finds pairs of ranks between which nothing arrives any more, though both answer: for instance, the network between
/// two hosts may be cut. One of them has then sent more messages than the other has received, and that does not change.
/// Ranks that only wait because these two wait have received all that was sent to them. Rank 0 has the only object. The
/// caller gives the times.
class SilentLinks {
 public:
  /// If nothing arrives for `silence`, the connection counts as cut.
  explicit SilentLinks(std::chrono::milliseconds silence) : silence_(silence) {}

  /// Records that the rank `to`, whose call stalls, waits for messages of a peer.
  void note_wait(Rank to, const Wait& wait, const Trouble& stalled, Clock::time_point now);

  /// What is known of a connection when its sender has told how many messages it has sent.
  enum class State : std::uint8_t {
    Busy,     ///< everything has arrived, or something has arrived since the last question
    Silent,   ///< nothing arrives, which was not known before
    Unheard,  ///< nothing arrives, which was known already
    Cut,      ///< nothing has arrived for as long as was allowed
  };
  State note_sent(const Way& way, std::uint64_t sent, Clock::time_point now);

  /// The trouble of the call that waits for messages on this way. Call it after State::Cut.
  const Trouble& trouble_of(const Way& way) const;
  /// Names the silent connections for which a call of this communicator waits: "; nothing that rank 1 sends to rank 2
  /// arrives". Empty if there are none.
  std::string text_for(std::uint64_t communicator) const;

 private:
  struct Link {
    Way way{.from = -1, .to = -1};
    std::uint64_t received = 0;
    bool is_silent = false;
    Clock::time_point since{};
    Clock::time_point renewed{};
    Trouble stalled;
  };

  std::vector<Link>::iterator find(const Way& way);

  const std::chrono::milliseconds silence_;
  std::vector<Link> links_;
};

}  // namespace lacuna::runtime
