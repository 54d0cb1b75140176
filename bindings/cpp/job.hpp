#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/cpp/lacuna.hpp"
#include "runtime/communicator.hpp"
#include "runtime/config.hpp"
#include "runtime/job/watch.hpp"

namespace lacuna {

class LocalJudge;

/// Everything that one rank of a job owns, in the order in which it is made; torn down in reverse.
struct JobState {
  JobState() = default;
  JobState(const JobState&) = delete;
  JobState& operator=(const JobState&) = delete;
  ~JobState();

  std::vector<std::string> hosts;
  std::unique_ptr<runtime::Executor> executor;
  std::unique_ptr<runtime::Communicator> communicator;
  std::unique_ptr<runtime::Watch> watch;
  std::shared_ptr<LocalJudge> judge;
};

/// Joins the job that `config` describes.
Result<std::shared_ptr<JobState>> join_world(const runtime::Config& config);

/// Makes the ranks of a job inside this process.
Result<std::vector<std::shared_ptr<JobState>>> make_local(Rank size, Progress progress);

}  // namespace lacuna
