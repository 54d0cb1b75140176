#pragma once

#include "runtime/engine/run.hpp"
#include "runtime/values/status.hpp"

namespace lacuna::runtime {

/// Ok, or why this call can't be audited as it asks. Its skipping is right otherwise.
Status check_audit(const Call& call);

/// Where it is time for an audit of a run whose parts stand: takes the sample of its input, and plans one part more,
/// the last, that reduces it densely beside the others. These stay as they are.
void plan_audit(Run& run);

/// Of a part's memory, between its steps: the sample.
void load_sample(ActivePart& part);
void store_sample(const ActivePart& part);

/// Of a run that has ended well: its result against the dense one of the sample.
SkipAudit compare_with_sample(const Run& run);

}  // namespace lacuna::runtime
