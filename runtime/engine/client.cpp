#include "runtime/engine/client.hpp"

#include "runtime/engine/executor.hpp"

namespace lacuna::runtime {

Client::Client(Executor& executor, std::uint64_t id, Group group, Hosts hosts)
    : id_(id),
      group_(std::move(group)),
      hosts_(std::move(hosts)),
      rank_(group_.rank_of(executor.rank())),
      runs_(executor.options().first_run, executor.options().max_runs, executor.options().max_messages),
      matching_(group_, executor.rank(), runs_, executor.landings()) {}

Trouble Client::trouble(Trouble::Kind kind, std::uint32_t number, std::string text) const {
  return {.kind = kind,
          .communicator = id_,
          .run = number,
          .text = std::move(text),
          .members = group_.is_whole_job() ? std::vector<Rank>() : group_.members()};
}

Reach Client::reach() const {
  return {.communicator = id_,
          .next_run = runs_.next(),
          .failed = !poison_.is_ok() || runs_.calls() > 0,
          .last = *runs_.posted(runs_.next() - 1)};
}

}  // namespace lacuna::runtime
