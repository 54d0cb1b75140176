#pragma once

#include <optional>
#include <string>

#include "runtime/job/bootstrap.hpp"

namespace lacuna::runtime {

/// A job that a launcher has started, as it tells this process.
struct Launched {
  std::string by;  ///< the launcher, and what it has said, for people
  Rank rank = 0, size = 1;
  // How the ranks find each other: at a store, or by the id that the launcher carries.
  std::string store{}, key{};
  Share share{};
};

/// Finds the launcher of a process that was not told its rank and size, and would work alone:
///
/// - torchrun: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. The store is at MASTER_PORT + 1000, or - 1000
///   if there is no such port. The key is made of the run's id, so whoever knows that can make it too, as with
///   torchrun's own store. There is no key if the run has no id.
/// - PMIx (PMIX_NAMESPACE and PMIX_RANK): Open MPI's mpirun, PRRTE, Slurm with PMIx.
/// - PMI-1 (PMI_FD, PMI_RANK and PMI_SIZE): MPICH's mpiexec, Slurm. A program that has MPI itself can't use this,
///   because MPI needs the launcher's only descriptor.
/// - Slurm's variables alone. The store is on the step's first host, at a port that the numbers of job and step give.
///   There is no key.
///
/// Returns nothing if no launcher announces more than one rank. Nothing is announced to the shell of an sbatch script,
/// or to an MPI program that was started without a launcher. If one does and none of these ways is open, the error is
/// InvalidArgument. It names the variables and says how to hand on their numbers. If it is unclear whether there are
/// other ranks (a size is no number, or there is a rank 0 without a size), the result is nothing, and a warning in the
/// log says what was seen.
Result<std::optional<Launched>> find_launcher();

}  // namespace lacuna::runtime
