#pragma once

#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Ok where no launcher's variables (mpirun's, srun's, torchrun's ...) announce more than one rank to this process.
/// Else InvalidArgument: names the variables seen and how to hand their numbers on, for a process that was not told
/// its rank and size and would work alone. The environment of an sbatch script's own shell announces nothing, nor does
/// an MPI program that was started without a launcher. Where it is unclear whether there are other ranks (a size that
/// is no number, a rank 0 without a size) it is Ok, and a line in the log says what was seen.
Status check_launchers();

}  // namespace lacuna::runtime
