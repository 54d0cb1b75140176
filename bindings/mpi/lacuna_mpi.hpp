#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>

#include "bindings/cpp/lacuna.hpp"

/// Joins a job beside MPI. These functions are compiled in the program, so they fit each MPI. They need no other
/// library than the program's MPI and liblacuna_core.
namespace lacuna {

/// Joins a job whose ranks are those of an MPI communicator between MPI_Init() and MPI_Finalize(). All its ranks call
/// this function. Only the joining uses MPI, so the communicator of MPI may be freed afterwards. The members rank, size
/// and broadcast of the options do not count.
inline Result<Communicator> world_of(MPI_Comm ranks, WorldOptions options = {}) {
  int rank = -1, size = -1;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &size);
  options.rank = rank;
  options.size = size;
  options.broadcast = [ranks](std::span<std::byte> bytes) {
    return MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, ranks) == MPI_SUCCESS;
  };
  return Communicator::world(options);
}

}  // namespace lacuna
