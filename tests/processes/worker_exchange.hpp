#pragma once

#include <cstddef>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

/// Makes neighbour exchanges on grids of all ranks, sends and receives around the ring, and receives from any rank,
/// with counts up to some windows. Returns ok, or what was wrong.
Status run_exchanges(Communicator& communicator, std::size_t rounds);

}  // namespace lacuna::test
