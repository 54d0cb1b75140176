#pragma once

#include <string>

#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"

/// The place of this process by PMIx, which Open MPI's mpirun, PRRTE and Slurm speak. libpmix.so.2 is loaded when it is
/// needed first. The process stays connected until it ends, because launchers take an earlier end for a failure. So MPI
/// may use PMIx before and after.
/// Thread rule: one thread at a time.
namespace lacuna::runtime {

struct PmixPlace {
  Rank rank = 0, size = 1;
};
/// The error is Transport: the library or the launcher is not there.
Result<PmixPlace> place_by_pmix();
/// Gives the text of rank 0 to all ranks. It blocks until all of them have called it. A process may call it once.
Result<std::string> share_by_pmix(const std::string& text);

}  // namespace lacuna::runtime
