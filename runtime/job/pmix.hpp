#pragma once

#include "runtime/job/deadline.hpp"
#include "runtime/values/dtype.hpp"
#include "runtime/values/status.hpp"
#include "runtime/values/unique_id.hpp"

/// What PMIx tells, which Open MPI's mpirun, PRRTE and Slurm speak. libpmix.so.2 is loaded when it is needed first. The
/// process stays connected until it ends, because launchers take an earlier end for a failure. So MPI may use PMIx
/// before and after. Thread rule: one thread at a time.
namespace lacuna::runtime {

struct PmixPlace {
  Rank rank = 0, size = 1;
};
/// The place of this process. The error is Transport: the library or the launcher is not there.
Result<PmixPlace> place_by_pmix();
/// Gives the id of rank 0 to all ranks. It blocks until all of them have called it as often as this one, or until the
/// deadline.
Status share_by_pmix(UniqueId& id, const Deadline& deadline);

}  // namespace lacuna::runtime
