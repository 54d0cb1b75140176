#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/watch.hpp"
#include "runtime/values/clock.hpp"

namespace lacuna::runtime {

/// From which rank to which messages are on their way.
struct Way {
  Rank from = 0;
  Rank to = 0;

  friend bool operator==(const Way&, const Way&) = default;
};

/// Finds the pairs of ranks between which nothing arrives any more though both are there, as where the network between
/// two hosts is cut: the one has sent more messages than the other has received, and that stays so. Other ranks that
/// wait, because the two do, have received all that was sent to them. Rank 0 keeps it; times are the caller's.
class SilentLinks {
 public:
  /// `silence`: how long nothing may arrive before the link counts as cut.
  explicit SilentLinks(std::chrono::milliseconds silence) : silence_(silence) {}

  /// A rank whose call stalls waits for messages of a peer.
  void note_wait(Rank to, const Wait& wait, const Trouble& stalled, Clock::time_point now);

  /// What is known of a link when its sender has told how many messages it has sent.
  enum class State : std::uint8_t {
    Busy,     ///< all has arrived, or some has since
    Silent,   ///< this has become known just now
    Unheard,  ///< this is known already
    Cut,      ///< for as long as was allowed
  };
  State note_sent(const Way& way, std::uint64_t sent, Clock::time_point now);

  /// The call that waits for this link, after Cut.
  const Trouble& trouble_of(const Way& way) const;
  /// Of those that are silent and keep a call of this communicator waiting: "; nothing that rank 1 sends to rank 2
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
