#include "bindings/cpp/request.hpp"

#include <fmt/format.h>

#include "algorithms/registry/gaps.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "runtime/job/job.hpp"

namespace lacuna {

Request::~Request() {
  if (!run_ || !group_->job->home.is_here()) return;
  static_cast<void>(wait());
  group_->communicator.release(*run_);
}

Status Request::check() const { return run_ ? group_->job->home.check() : Status(); }

bool Request::test() { return !run_ || !check() || group_->communicator.test(*run_); }

Status Request::wait() {
  Status may = check();
  return run_ && may ? group_->communicator.wait(*run_) : may;
}

Status Request::wait(std::chrono::microseconds timeout) {
  Status may = check();
  return run_ && may ? group_->communicator.wait(*run_, timeout) : may;
}

Status Request::hold_stream(void* stream) {
  Status may = check();
  return run_ && may ? group_->job->executor->hold(*run_, stream) : may;
}

bool Request::reclaimed() { return !run_ || !check() || group_->communicator.reclaimed(*run_); }

std::size_t ReceiveRequest::received_bytes() const {
  return run_ && check() ? group_->communicator.received(*run_) : 0;
}

Rank ReceiveRequest::source() const { return run_ && check() ? group_->communicator.source(*run_) : any_rank; }

Report CallRequest::report() const { return run_ && check() ? group_->communicator.report(*run_) : Report(); }

std::string_view CallRequest::algorithm() const {
  if (!run_ || run_->kind != runtime::RunKind::Collective || !check()) return {};
  const runtime::CollectiveRun& run = runtime::as_collective(*run_);
  return run.method ? run.method->find(*run.algorithm)->name : run.algorithm->name;
}

Result<std::vector<Gap>> CallRequest::gaps(Rank at) const {
  if (!run_ || run_->kind != runtime::RunKind::Collective) {
    return Status(Code::InvalidArgument, "only the request of a collective has gaps");
  }
  if (Status may = check(); !may) return may;
  const runtime::CollectiveRun& run = runtime::as_collective(*run_);
  if (run.parts == 0) return Status(Code::InvalidArgument, "this call has not been started: it has no gaps yet");
  const Hosts& hosts = *run.hosts;
  if (at < 0 || at >= hosts.size()) {
    return Status(Code::InvalidArgument, fmt::format("rank is {}, must be 0 .. {}", at, hosts.size() - 1));
  }
  if (!run.method) return std::vector<Gap>();
  return Gaps(run, hosts).of(at);
}

Status PreparedCall::start() {
  if (!run_) return {Code::InvalidArgument, "an empty request has nothing to start"};
  Status may = check();
  return may ? group_->communicator.start(*run_) : may;
}

}  // namespace lacuna
