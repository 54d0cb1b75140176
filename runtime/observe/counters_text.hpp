#pragma once

#include <string>

#include "runtime/values/job_counters.hpp"

namespace lacuna {

/// The counters of one rank as text. docs/observability.md lists the names.
std::string counters_text(const JobCounters& counters, CountersFormat format);

}  // namespace lacuna
