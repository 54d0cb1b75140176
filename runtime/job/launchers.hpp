#pragma once

#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Checks a process that was not told its rank and size, and would work alone. Returns ok if no variables of a launcher
/// (mpirun, srun, torchrun and others) announce more than one rank. If some do, the error is InvalidArgument. It names
/// the variables and says how to hand on their numbers. Nothing is announced to the shell of an sbatch script, or to an
/// MPI program that was started without a launcher. If it is unclear whether there are other ranks (a size is no
/// number, or there is a rank 0 without a size), the result is ok, and a warning in the log says what was seen.
Status check_launchers();

}  // namespace lacuna::runtime
