#include "bindings/cpp/exchange.hpp"

#include <utility>

#include "runtime/job/job.hpp"

namespace lacuna {

PreparedExchange::PreparedExchange(std::shared_ptr<GroupState> group, const Exchange& exchange)
    : Request(std::move(group), nullptr),
      neighbours_(exchange.neighbours.begin(), exchange.neighbours.end()),
      halos_(exchange.halos.begin(), exchange.halos.end()),
      exchange_(exchange) {}

Status PreparedExchange::start() {
  if (!group_) return {Code::InvalidArgument, "an empty request has nothing to start"};
  if (Status may = group_->job->home.check(); !may) return may;
  if (run_ && !group_->communicator.has_ended(*run_)) {
    return {Code::InvalidArgument, "the exchange is still running: it can be started again after its end"};
  }
  if (!reclaimed()) return {Code::Busy, "the buffers of the last start of this exchange are still in use"};
  exchange_.neighbours = neighbours_;
  exchange_.halos = halos_;
  auto run = group_->communicator.post(exchange_);
  if (!run) return run.status();
  if (run_) group_->communicator.release(*run_);
  run_ = *run;
  return {};
}

}  // namespace lacuna
