#include "bindings/cpp/lacuna.hpp"

#include <fmt/format.h>

#include "algorithms/registry/registry.hpp"
#include "runtime/job/door.hpp"
#include "runtime/job/entry.hpp"
#include "runtime/job/join.hpp"
#include "runtime/observe/counters_text.hpp"
#include "runtime/observe/log.hpp"

namespace lacuna {
namespace {

/// What a job must know of the algorithms.
constexpr Registry registry = {.select = select_algorithm, .method = method_options};

/// The configuration of the environment, with these options in place of what is there.
Result<runtime::Config> config_of(const WorldOptions& options) {
  auto config = runtime::Config::from_environment();
  if (!config) return config.status();
  if (options.rank) config->rank = options.rank;
  if (options.size) config->size = options.size;
  if (options.size == 1 && !options.rank) {  // the environment's job does not matter
    config->rank = 0;
    config->aggregators = 0;
  }
  if (!options.store.empty()) config->store = options.store;
  if (!options.key.empty()) config->key = options.key;
  if (options.progress) config->progress = *options.progress;
  if (options.timeout) config->bootstrap_timeout = *options.timeout;
  return config;
}

/// Shares an id by the function of the options.
runtime::Share share_by(const WorldOptions& options) {
  if (!options.broadcast) return {};
  return [broadcast = options.broadcast](UniqueId& id, const runtime::Deadline&) -> Status {
    const auto failed = [](std::string_view why) {
      return Status(Code::Transport, fmt::format("the broadcast of the world's options has failed{}", why));
    };
    try {
      return broadcast(id.bytes) ? Status() : failed("");
    } catch (const std::exception& error) {
      return failed(fmt::format(": {}", error.what()));
    } catch (...) {
      return failed(": it has thrown");
    }
  };
}

/// Returns ok, or why these options do not say how the ranks find each other.
Status check_meeting(const WorldOptions& options) {
  if (!options.broadcast && !options.id) return {};
  const char* const way = options.broadcast ? "a broadcast" : "an id";
  if (options.id && !*options.id) {
    return {Code::InvalidArgument, "the id has only zeros: rank 0 could not make it"};
  }
  if (options.broadcast && options.id) return {Code::InvalidArgument, "a broadcast and an id are given; one is enough"};
  if (!options.rank || !options.size) {
    return {Code::InvalidArgument, fmt::format("{} needs the rank and the size beside it", way)};
  }
  if (options.store.empty() || (options.broadcast && options.store.ends_with(":0"))) return {};
  return {Code::InvalidArgument,
          fmt::format("the store is {} beside {}, which takes the place of a store{}", options.store, way,
                      options.broadcast ? "; with the port 0 it says at which address rank 0 listens" : "")};
}

}  // namespace

Status aggregate(const WorldOptions& options) {
  const auto config = config_of(options);
  return config ? aggregate(*config, registry) : config.status();
}

void set_log_callback(LogCallback callback, void* user) { runtime::set_log_sink(callback, user); }

Result<UniqueId> make_unique_id(const std::string& address) {
  const auto config = runtime::Config::from_environment();
  if (!config) return config.status();
  return runtime::keep_door(address.empty() ? address : address + ":0", config->machine);
}

Communicator::Communicator(const WorldOptions& options) {
  auto joined = world(options);
  if (!joined) throw Error(joined.status());
  *this = std::move(*joined);
}

Result<Communicator> Communicator::world(const WorldOptions& options) {
  runtime::Sharing sharing(share_by(options));
  auto config = config_of(options);
  if (!config) {
    if (!options.rank && !options.size) runtime::share_by_launcher(sharing);  // the others may wait there
    return config.status();
  }
  if (Status valid = check_meeting(options); !valid) return valid;
  if (options.broadcast || options.id) config->store = options.store;
  auto joined = join_world(*config, registry, sharing, options.id.value_or(UniqueId()), options.interrupted);
  if (!joined) return joined.status();
  return Communicator(std::move(*joined));
}

Result<std::vector<Communicator>> Communicator::local(Rank size, const LocalOptions& options) {
  if (options.aggregators < 0) {
    return Status(Code::InvalidArgument,
                  fmt::format("the number of aggregators is {}, must be 0 or more", options.aggregators));
  }
  auto made = make_local(size, options.progress, registry, options.aggregators);
  if (!made) return made.status();
  std::vector<Communicator> ranks;
  for (auto& rank : *made) ranks.push_back(Communicator(std::move(rank)));
  return ranks;
}

Rank Communicator::rank() const { return group_->communicator.rank(); }
Rank Communicator::size() const { return group_->communicator.size(); }
const std::vector<Rank>& Communicator::job_ranks() const { return group_->communicator.group().members(); }

std::vector<std::string> Communicator::hosts() const {
  std::vector<std::string> names;
  for (Rank rank : job_ranks()) names.push_back(group_->job->host_names[static_cast<std::size_t>(rank)]);
  return names;
}
Rank Communicator::ranks_here(Rank end) const {
  const Hosts hosts = group_->job->hosts.of(job_ranks());
  Rank here = 0;
  for (Rank other = 0; other < end; ++other) here += hosts.host_of(other) == hosts.host_of(rank());
  return here;
}

Status Communicator::check() const { return group_->job->home.check(); }

Status Communicator::status() const {
  Status may = check();
  return may ? group_->communicator.status() : may;
}

Result<const Algorithm*> Communicator::algorithm_of(const Call& call) const {
  if (Status may = check(); !may) return may;
  return select_algorithm(call, group_->communicator.hosts(), group_->job->algorithm_for(call.collective));
}

Result<std::string_view> Communicator::algorithm_name(const Call& call) const {
  const auto algorithm = algorithm_of(call);
  if (!algorithm) return algorithm.status();
  return name_of(call, **algorithm);
}

Result<runtime::Run*> Communicator::post(const Call& call) {
  if (Status may = check(); !may) return may;
  const auto again = group_->communicator.post_again(call);
  return !again || *again ? again : post_anew(call);
}

Result<runtime::Run*> Communicator::post_anew(const Call& call) {
  const auto algorithm = algorithm_of(call);
  if (!algorithm) return algorithm.status();
  return group_->communicator.post(call, **algorithm);
}

Result<CallRequest> Communicator::start(const Call& call) {
  const auto run = post(call);
  if (!run) return run.status();
  return CallRequest(group_, *run);
}

Result<PreparedCall> Communicator::prepare(const Call& call) {
  const auto algorithm = algorithm_of(call);
  if (!algorithm) return algorithm.status();
  auto run = group_->communicator.prepare(call, **algorithm);
  if (!run) return run.status();
  return PreparedCall(group_, *run);
}

Status Communicator::call(const Call& call) {
  if (Status may = check(); !may) return may;
  const auto again = group_->communicator.call_again(call);
  if (!again || *again) return again.status();
  const auto run = post_anew(call);
  if (!run) return run.status();
  return group_->communicator.finish(**run);
}

Result<CallRequest> Communicator::start(TypedCall typed) {
  if (Status fits = complete(typed); !fits) return fits;
  return start(typed.call);
}

Result<PreparedCall> Communicator::prepare(TypedCall typed) {
  if (Status fits = complete(typed); !fits) return fits;
  return prepare(typed.call);
}

Status Communicator::call(TypedCall typed) {
  if (Status fits = complete(typed); !fits) return fits;
  return call(typed.call);
}

Result<Request> Communicator::start(const Send& message) {
  if (Status may = check(); !may) return may;
  auto run = group_->communicator.post(message);
  if (!run) return run.status();
  return Request(group_, *run);
}

Result<ReceiveRequest> Communicator::start(const Receive& message) {
  if (Status may = check(); !may) return may;
  auto run = group_->communicator.post(message);
  if (!run) return run.status();
  return ReceiveRequest(group_, *run);
}

Result<ReceiveRequest> Communicator::start(const Send& out, const Receive& in) {
  if (Status may = check(); !may) return may;
  auto run = group_->communicator.post(out, in);
  if (!run) return run.status();
  return ReceiveRequest(group_, *run);
}

Result<Request> Communicator::start(const Exchange& exchange) {
  if (Status may = check(); !may) return may;
  auto run = group_->communicator.post(exchange);
  if (!run) return run.status();
  return Request(group_, *run);
}

Status Communicator::call(const Exchange& exchange) {
  auto request = start(exchange);
  return request ? request->wait() : request.status();
}

Result<PreparedExchange> Communicator::prepare(const Exchange& exchange) {
  if (Status may = check(); !may) return may;
  if (Status valid = group_->communicator.check(exchange); !valid) return valid;
  return PreparedExchange(group_, exchange);
}

Result<std::optional<std::size_t>> Communicator::probe(Rank from, int tag) {
  if (Status may = check(); !may) return may;
  return group_->communicator.probe(from, tag);
}

Counters Communicator::counters() const {
  Counters all;
  if (!check()) return all;
  const Group& group = group_->communicator.group();
  for (Rank peer = 0; peer < size() + group.aggregators(); ++peer) {
    all += group_->job->executor->counters(group.process_of(peer));
  }
  return all;
}

Counters Communicator::counters(Rank peer) const {
  if (peer < 0 || peer >= size() || !check()) return {};
  return group_->job->executor->counters(group_->communicator.group().process_of(peer));
}
JobCounters Communicator::job_counters() const { return check() ? group_->job->counters() : JobCounters(); }
void Communicator::restart_measures() {
  if (check()) group_->job->executor->restart_measures();
}
std::string Communicator::counters_text(CountersFormat format) const {
  return lacuna::counters_text(job_counters(), format);
}
bool Communicator::progress() { return check() && group_->job->executor->progress(); }
int Communicator::event_fd() const { return group_->job->executor->event_fd(); }
bool Communicator::arm() { return !check() || group_->job->executor->arm(); }
std::string Communicator::flight_record() const { return check() ? group_->job->executor->flight_record() : ""; }

std::optional<Completion> Communicator::next_completion() {
  if (!check()) return std::nullopt;
  auto finished = group_->job->executor->next_finished();
  if (!finished) return std::nullopt;
  return Completion{finished->token, finished->status};
}

}  // namespace lacuna
