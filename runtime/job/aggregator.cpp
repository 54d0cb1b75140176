#include "runtime/job/aggregator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/observe/log.hpp"
#include "runtime/values/thread.hpp"

namespace lacuna::runtime {
namespace {

Status unexpected(Rank from, std::string_view what) {
  return {Code::Internal, fmt::format("rank {} has announced {}", from, what)};
}

}  // namespace

Aggregator::Aggregator(JobState& job, const Registry& registry, std::uint64_t world)
    : job_(job), registry_(registry), left_(static_cast<std::size_t>(job.ranks())) {
  know(world, job.world());
}

void Aggregator::know(std::uint64_t id, const Group& group) {
  served_[id].communicator = std::make_unique<Communicator>(*job_.executor, id, group, job_.hosts_of(group), id);
}

Status Aggregator::serve() {
  while (std::find(left_.begin(), left_.end(), false) != left_.end()) {
    job_.executor->wait([this] { return has_duty(); }, Clock::time_point::max());
    if (Status failed = job_.hall->status(); !failed) return failed;
    for (Rank rank = 0; rank < job_.ranks(); ++rank) {
      while (const auto bytes = waiting(rank)) {
        const Result<Announcement> announcement = take(rank, *bytes);
        if (!announcement) return announcement.status();
        if (Status handled = handle(rank, *announcement); !handled) return handled;
      }
    }
    forget_freed();
  }
  return {};
}

/// Is called under the executor's lock.
bool Aggregator::has_duty() const {
  if (job_.hall->has_failed()) return true;
  for (Rank rank = 0; rank < job_.ranks(); ++rank) {
    if (job_.hall->matching().waiting(rank, announcement_tag)) return true;
  }
  return std::any_of(served_.begin(), served_.end(),
                     [](const auto& one) { return one.second.freed && one.second.communicator->runs().empty(); });
}

std::optional<std::size_t> Aggregator::waiting(Rank from) const {
  const Executor::Lock lock(*job_.executor);
  const Landing* message = job_.hall->matching().waiting(from, announcement_tag);
  return message ? std::optional<std::size_t>(message->bytes) : std::nullopt;
}

Result<Announcement> Aggregator::take(Rank from, std::size_t bytes) {
  std::vector<std::byte> body(bytes);
  auto receive = job_.hall->post(
      Receive{.data = body.data(), .count = bytes, .dtype = Dtype::U8, .from = from, .tag = announcement_tag});
  if (!receive) return receive.status();
  if (Status received = job_.hall->finish(**receive); !received) return received;
  auto announcement = decode_announcement(body, job_.ranks());
  if (!announcement) return unexpected(from, "something that is no announcement");
  return *std::move(announcement);
}

Status Aggregator::handle(Rank from, const Announcement& announcement) {
  if (announcement.kind == Announcement::Kind::Made) return meet(from, announcement);
  if (announcement.kind == Announcement::Kind::Left) {
    left_[static_cast<std::size_t>(from)] = true;
    return {};
  }
  const auto served = served_.find(announcement.communicator);
  if (served == served_.end()) return unexpected(from, "a call of a communicator that does not exist");
  Communicator& communicator = *served->second.communicator;
  if (communicator.group().process_of(0) != from) return unexpected(from, "a call for which another rank speaks");
  if (announcement.kind == Announcement::Kind::Freed) {
    served->second.freed = true;
  } else {
    take_part(communicator, announcement);
  }
  return {};
}

Status Aggregator::meet(Rank from, const Announcement& announcement) {
  const std::uint64_t id = announcement.communicator;
  if (announcement.members.front() != from || served_.count(id) > 0) return unexpected(from, "a communicator wrongly");
  know(id, job_.group(announcement.members));
  return job_.hall->send_alone(from, confirmation_tag(id), std::make_shared<const std::vector<std::byte>>());
}

/// If the call can't be started, all ranks of the communicator get an error.
void Aggregator::take_part(Communicator& communicator, const Announcement& announcement) {
  const Status started = start(communicator, announcement);
  if (started || !communicator.status()) return;
  const Rank number = job_.executor->rank() - job_.ranks();
  Trouble trouble;
  {
    const Executor::Lock lock(*job_.executor);
    trouble = communicator.trouble(Trouble::Kind::Refused, announcement.number,
                                   fmt::format("aggregator {} can't take part: {}", number, started.message()));
  }
  job_.report(trouble);
}

Status Aggregator::start(Communicator& communicator, const Announcement& announcement) {
  Announcement announced = announcement;
  const auto method = registry_.method(announced.method);
  if (!method) return method.status();
  announced.call.options.method = *method;
  static std::uint32_t none = 0;  // an aggregator gets no result, but its plan must be that of the ranks
  if (announced.lists_output) announced.call.output_entries.places = &none;
  const Method& serving = *method->method();
  if (const MethodAlgorithm* row = serving.find(announced.call.collective, announced.algorithm)) {
    return communicator.assist(announced, *row->algorithm);
  }
  return {Code::InvalidArgument, fmt::format("no {} {} serves the method {}", to_string(announced.call.collective),
                                             announced.algorithm, serving.name)};
}

/// A communicator whose calls have not ended stays until they have.
void Aggregator::forget_freed() {
  std::erase_if(served_, [&](const auto& one) {
    const auto& [communicator, freed] = one.second;
    if (!freed) return false;
    {
      const Executor::Lock lock(*job_.executor);
      if (!communicator->runs().empty()) return false;
    }
    static_cast<void>(communicator->status());  // its ranks have told of a failure
    return true;
  });
}

AggregatorThreads::~AggregatorThreads() {
  for (std::thread& thread : threads_) thread.join();
}

void AggregatorThreads::start(std::shared_ptr<JobState> job, std::unique_ptr<Aggregator> aggregator) {
  threads_.push_back(start_thread([job = std::move(job), aggregator = std::move(aggregator)]() mutable {
    if (Status served = aggregator->serve(); !served) {
      log_warning(Subsystem::Job, "an aggregator has ended: {}", served.message());
    }
    aggregator.reset();
    job.reset();
  }));
}

}  // namespace lacuna::runtime
