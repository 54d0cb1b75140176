#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/posted.hpp"
#include "runtime/values/call.hpp"

namespace lacuna::runtime {

/// What a rank says about one call that it posted, and about the calls before it.
struct Statement {
  Rank rank = 0;
  Posted posted;
};

/// Makes the name of a call, such as "call 17".
using NameOfCall = std::function<std::string(std::uint32_t run)>;

/// Describes the first call up to `run` in which these ranks differ, of the calls that they remember: "call 17 differs:
/// ranks 0, 2 posted ...; rank 1 posted ...". The ranks ascend. Nothing if they agree.
std::optional<std::string> difference(std::uint32_t run, const std::vector<Statement>& statements,
                                      const NameOfCall& name);

/// Describes where ranks that have left did not agree, with a line for each communicator. `reached` has an entry for
/// each rank, which is empty if its goodbye was not heard. Communicators that failed are left out: their calls have
/// said why.
std::vector<std::string> disagreements(const std::vector<std::vector<Reach>>& reached);
/// Writes the lines of disagreements() to the log, as errors.
void log_disagreements(const std::vector<std::vector<Reach>>& reached);

}  // namespace lacuna::runtime
