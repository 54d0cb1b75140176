#include "bindings/cpp/lacuna.hpp"

#include <fmt/format.h>

#include "algorithms/registry.hpp"
#include "bindings/cpp/job.hpp"
#include "runtime/log.hpp"

namespace lacuna {

std::string_view version() { return LACUNA_VERSION; }

void set_log_callback(LogCallback callback, void* user) { runtime::set_log_sink(callback, user); }

Request::~Request() {
  if (!run_) return;
  static_cast<void>(wait());
  job_->communicator->release(*run_);
}

bool Request::test() { return !run_ || job_->communicator->test(*run_); }

Status Request::wait() { return run_ ? job_->communicator->wait(*run_, std::nullopt) : Status::ok(); }

Status Request::wait(std::chrono::milliseconds timeout) {
  return run_ ? job_->communicator->wait(*run_, timeout) : Status::ok();
}

bool Request::reclaimed() { return !run_ || job_->communicator->reclaimed(*run_); }

Communicator::Communicator(const WorldOptions& options) {
  auto joined = world(options);
  if (!joined) throw Error(joined.status());
  *this = std::move(*joined);
}

Result<Communicator> Communicator::world(const WorldOptions& options) {
  auto config = runtime::Config::from_environment();
  if (!config) return config.status();
  if (options.rank) config->rank = options.rank;
  if (options.size) config->size = options.size;
  if (!options.store.empty()) config->store = options.store;
  if (!options.key.empty()) config->key = options.key;
  if (options.progress) config->progress = *options.progress;
  auto job = join_world(*config);
  if (!job) return job.status();
  return Communicator(std::move(*job));
}

Result<std::vector<Communicator>> Communicator::local(Rank size, const LocalOptions& options) {
  auto jobs = make_local(size, options.progress);
  if (!jobs) return jobs.status();
  std::vector<Communicator> ranks;
  for (auto& job : *jobs) ranks.push_back(Communicator(std::move(job)));
  return ranks;
}

Rank Communicator::rank() const { return job_->communicator->rank(); }
Rank Communicator::size() const { return job_->communicator->size(); }
const std::vector<std::string>& Communicator::hosts() const { return job_->hosts; }
Status Communicator::status() const { return job_->communicator->status(); }

Result<Request> Communicator::start(const Call& call) {
  const auto algorithm = select_algorithm(call, size());
  if (!algorithm) return algorithm.status();
  auto run = job_->communicator->post(call, **algorithm);
  if (!run) return run.status();
  return Request(job_, *run);
}

Status Communicator::run(const Call& call) {
  const auto algorithm = select_algorithm(call, size());
  if (!algorithm) return algorithm.status();
  auto run = job_->communicator->post(call, **algorithm);
  if (!run) return run.status();
  return job_->communicator->finish(**run);
}

namespace {

Call barrier_call(Options options) {
  return {.collective = Collective::Barrier,
          .input = nullptr,
          .output = nullptr,
          .memory = {},
          .options = std::move(options)};
}

}  // namespace

Status Communicator::barrier(Options options) { return run(barrier_call(std::move(options))); }

Result<Request> Communicator::start_barrier(Options options) { return start(barrier_call(std::move(options))); }

Result<std::size_t> Communicator::count_of(Collective collective, std::size_t input, std::size_t output,
                                           Rank root) const {
  const CollectiveTraits& traits = traits_of(collective);
  const bool reads = reads_input(collective, rank(), root), writes = writes_output(collective, rank(), root);
  std::size_t count = (writes ? output : input) / static_cast<std::size_t>(size());
  if (reads && traits.input == Holds::Data) count = input;
  if (writes && traits.output == Holds::Data) count = output;
  const auto check = [&](const char* name, Holds holds, std::size_t given) -> Status {
    const std::size_t needed = length_of(holds, count, size());
    if (given == needed) return {};
    return {Code::InvalidArgument,
            fmt::format("{}: the {} has {} elements, must have {}", traits.name, name, given, needed)};
  };
  if (Status fits = reads ? check("input", traits.input, input) : Status(); !fits) return fits;
  if (Status fits = writes ? check("output", traits.output, output) : Status(); !fits) return fits;
  return count;
}

Counters Communicator::counters() const {
  Counters all;
  for (Rank peer = 0; peer < size(); ++peer) all += counters(peer);
  return all;
}

Counters Communicator::counters(Rank peer) const { return job_->executor->counters(peer); }
bool Communicator::progress() { return job_->executor->progress(); }
int Communicator::event_fd() const { return job_->executor->event_fd(); }
bool Communicator::arm() { return job_->executor->arm(); }
std::string Communicator::flight_record() const { return job_->executor->flight_record(); }

std::optional<Completion> Communicator::next_completion() {
  auto finished = job_->executor->next_finished();
  if (!finished) return std::nullopt;
  return Completion{finished->token, finished->status};
}

}  // namespace lacuna
