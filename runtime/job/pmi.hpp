#pragma once

#include <string>

#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Gives the text of rank 0 to all ranks by PMI-1, the protocol of MPICH's mpiexec (Hydra) and of Slurm: lines of text
/// to and from the launcher, over the descriptor that it has named in PMI_FD. It blocks until all ranks have called it.
/// A process may call it once. The text has no blanks and at most 1000 characters.
Result<std::string> share_by_pmi(int descriptor, Rank rank, const std::string& text);

}  // namespace lacuna::runtime
