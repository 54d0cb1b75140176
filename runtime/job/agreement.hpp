#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/watch.hpp"

namespace lacuna::runtime {

/// Was call `a` of a communicator posted before call `b`? Their numbers wrap around: the two are less than 2^31 apart.
constexpr bool comes_before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }

/// What a rank says that it posted as one call, and before it.
struct Statement {
  Rank rank = 0;
  Watched::Posted posted;
};

/// Makes the name of a call: "call 17".
using NameOfCall = std::function<std::string(std::uint32_t run)>;

/// The first call up to `run` in which these ranks, in ascending order, differ, of those that they remember: "call 17
/// differs: ranks 0, 2 posted ...; rank 1 posted ...". Nothing if they agree.
std::optional<std::string> difference(std::uint32_t run, const std::vector<Statement>& statements,
                                      const NameOfCall& name);

/// What a rank that came so far posted as call `run`.
Watched::Posted posted_at(const Reach& reach, std::uint32_t run);

/// Where ranks that have left did not agree, a line for each communicator; `reached` by rank, empty where nothing was
/// heard. Communicators that failed are left out: their calls have said why.
std::vector<std::string> disagreements(const std::vector<std::vector<Reach>>& reached);
/// The same, as errors on the log.
void log_disagreements(const std::vector<std::vector<Reach>>& reached);

}  // namespace lacuna::runtime
