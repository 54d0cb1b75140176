#include "runtime/job/offered_board.hpp"

#include <utility>

#include "runtime/observe/log.hpp"

namespace lacuna {

MappableSegment OfferedBoard::make() {
  made_ = Board::shared_memory(members_);
  take(made_.segment);
  return memory_ ? made_.segment : MappableSegment();
}

void OfferedBoard::take(const MappableSegment& offer) {
  if (memory_ || offer.bytes == 0) return;
  auto mapped = Board::map(offer, members_);
  if (mapped) {
    memory_ = *std::move(mapped);
  } else {
    runtime::log_info(Subsystem::Job, "the ranks share no board: {}", mapped.status().message());
  }
}

}  // namespace lacuna
