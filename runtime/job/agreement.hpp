#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/posted.hpp"
#include "runtime/values/call.hpp"

namespace lacuna::runtime {

/// What a rank says that it posted as one call, and before it.
struct Statement {
  Rank rank = 0;
  Posted posted;
};

/// Makes the name of a call: "call 17".
using NameOfCall = std::function<std::string(std::uint32_t run)>;

/// The first call up to `run` in which these ranks, in ascending order, differ, of those that they remember: "call 17
/// differs: ranks 0, 2 posted ...; rank 1 posted ...". Nothing if they agree.
std::optional<std::string> difference(std::uint32_t run, const std::vector<Statement>& statements,
                                      const NameOfCall& name);

/// Where ranks that have left did not agree, a line for each communicator; `reached` by rank, empty where nothing was
/// heard. Communicators that failed are left out: their calls have said why.
std::vector<std::string> disagreements(const std::vector<std::vector<Reach>>& reached);
/// The same, as errors on the log.
void log_disagreements(const std::vector<std::vector<Reach>>& reached);

}  // namespace lacuna::runtime
