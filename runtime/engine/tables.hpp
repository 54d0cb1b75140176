#pragma once

#include <cstdint>

#include "runtime/engine/run.hpp"

namespace lacuna::runtime {

/// Copies the tables of the buffers that `rank` has into the run. The run's call then refers to the copies, which hold
/// all offsets.
void keep_tables(CollectiveRun& run, const Call& call, Rank rank);

/// Says how many elements this rank has received from itself, if the caller asks for that.
void tell_own_length(const CollectiveRun& run, Rank rank);

/// What must be equal on all ranks in the lengths of their buffers: the count, or the sum and a digest of the table. It
/// is 0 where each rank has its own lengths.
struct AgreedLengths {
  std::uint64_t count = 0;
  std::uint64_t digest = 0;
};
AgreedLengths agreed_lengths(const Call& call);

}  // namespace lacuna::runtime
