#pragma once

#include "runtime/engine/run.hpp"

/// Messages that begin together and share one request are a batch. Each of these functions takes the first run of a
/// batch. A run that begins alone is a batch of one. The executor's lock guards all of it.
namespace lacuna::runtime {

/// Returns the first run for which `holds` returns true, or null.
template <class Holds>
const Run* find_in_batch(const Run& first, Holds holds) {
  for (const Run* run = &first; run; run = run->next) {
    if (holds(*run)) return run;
  }
  return nullptr;
}

/// Returns the first run that has not ended, or null.
inline const Run* find_unfinished(const Run& first) {
  return find_in_batch(first, [](const Run& run) { return !run.finished; });
}
inline bool has_ended(const Run& first) { return !find_unfinished(first); }

/// Does the transport still use its buffers?
inline bool is_in_use(const Run& first) {
  return find_in_batch(first, [](const Run& run) { return run.operations > 0; }) != nullptr;
}

/// Returns how a batch that has ended did so: the status of its first run that failed, else ok.
inline const Status& outcome(const Run& first) {
  const Run* failed = find_in_batch(first, [](const Run& run) { return !run.status; });
  return (failed ? *failed : first).status;
}

}  // namespace lacuna::runtime
