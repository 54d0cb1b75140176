#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/config/config.hpp"
#include "runtime/graph/algorithm.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/sharing.hpp"
#include "runtime/values/method_options.hpp"
#include "runtime/values/progress.hpp"
#include "runtime/values/unique_id.hpp"

namespace lacuna {

/// What a job must know of the algorithms and methods. They lie above it, so whoever makes a job brings these functions
/// of algorithms/registry.
struct Registry {
  /// Selects the algorithm that serves a call of ranks on these hosts, or says why there is none (select_algorithm()).
  Result<const Algorithm*> (*select)(const Call& call, const Hosts& hosts, std::string_view instead) = nullptr;
  /// Makes a method with options from its text (method_options()). Only aggregators need this.
  Result<MethodOptions> (*method)(std::string_view text) = nullptr;
};

/// Joins the job that `config` describes, as one of its ranks. Returns the communicator of all ranks. If `sharing` is
/// possible, or there is an id, the ranks need no store. `interrupted` is that of runtime::Job.
Result<std::shared_ptr<GroupState>> join_world(const runtime::Config& config, const Registry& registry,
                                               runtime::Sharing& sharing, const UniqueId& id,
                                               const runtime::Interrupted& interrupted = {});

/// Joins the job that `config` describes, as one of its aggregators, and serves until all ranks have left. Returns ok
/// then, or why it has not joined, or how the job has failed.
Status aggregate(const runtime::Config& config, const Registry& registry);

/// Makes a job whose ranks are all inside this process. Returns the communicator of each rank. Each of so many
/// aggregators has a thread of its own, which ends when all ranks have left.
Result<std::vector<std::shared_ptr<GroupState>>> make_local(Rank size, Progress progress, const Registry& registry,
                                                            Rank aggregators = 0);

}  // namespace lacuna
