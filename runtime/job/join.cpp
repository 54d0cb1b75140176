#include "runtime/job/join.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>

#include "kernels/backend.hpp"
#include "kernels/copy_past_caches.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/job/aggregator.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/job/descriptors.hpp"
#include "runtime/job/entry.hpp"
#include "runtime/job/local_watch.hpp"
#include "runtime/job/offered_board.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/digest.hpp"
#include "runtime/values/mappable_heap.hpp"
#include "runtime/values/processors.hpp"
#include "runtime/values/standard_streams.hpp"
#include "transports/inproc.hpp"
#include "transports/ucx.hpp"

namespace lacuna {

using runtime::aggregators_of;
using runtime::processes_of;

namespace {

constexpr std::chrono::milliseconds longest_clock_comparison{1000};

/// Does this host have more ranks than processors? Then polling would only take time from other ranks.
bool crowded(const Hosts& hosts, Rank rank) {
  int here = 0;
  for (Rank other = 0; other < hosts.size(); ++other) here += hosts.host_of(other) == hosts.host_of(rank);
  return here > usable_processors();
}

runtime::ExecutorOptions executor_options(const runtime::Config& config, const kernels::Backend& kernels,
                                          bool is_crowded) {
  return {.window_bytes = config.window,
          .credit_bytes = config.credits,
          .eager_bytes = config.eager,
          .mapped_bytes = config.mapped,
          .cache_bytes = kernels::largest_cache(),
          .parts_in_flight = static_cast<std::uint32_t>(config.parts_in_flight),
          .slots = static_cast<std::uint32_t>(config.slots),
          .max_runs = static_cast<std::uint32_t>(config.max_runs),
          .max_messages = static_cast<std::uint32_t>(config.max_messages),
          .chunk_bytes = config.chunk,
          .deadline = config.deadline,
          .stall = config.stall,
          .spin = is_crowded ? std::chrono::microseconds(0) : config.spin,
          .progress_thread = config.progress == Progress::Thread,
          .trace_events = config.trace.empty() ? 0 : config.trace_events,
          .kernels = &kernels};
}

/// The kernels of LACUNA_KERNELS, by which the job computes.
Result<const kernels::Backend*> kernels_of(const runtime::Config& config) {
  auto named = kernels::backend_named(config.kernels);
  if (!named) {
    return Status(named.status().code(),
                  fmt::format("LACUNA_KERNELS is \"{}\": {}", config.kernels, named.status().message()));
  }
  if (const std::string missing = kernels::better_but_missing(); config.kernels == "host" && !missing.empty()) {
    runtime::log_warning(Subsystem::Job, "{} serve: {}", (*named)->name(), missing);
  }
  return named;
}

/// Makes the folders, and makes their paths absolute, because the program may change its folder.
Status prepare_folders(runtime::Config& config) {
  for (auto [variable, folder] : {std::pair("LACUNA_METRICS", &config.metrics), {"LACUNA_TRACE", &config.trace}}) {
    if (Status writable = prepare_folder(variable, *folder); !writable) return writable;
    if (!folder->empty()) *folder = std::filesystem::absolute(*folder).string();
  }
  return {};
}

/// Takes the algorithms of LACUNA_ALGORITHMS, if they serve a job of so many ranks.
Status take_algorithms(const runtime::Config& config, Rank size, const Registry& registry, JobState& job) {
  for (const auto& [collective, name] : config.algorithms) {
    Call call{.collective = collective};
    call.options.algorithm = name;
    if (const auto known = registry.select(call, Hosts(size).with_board(), {}); !known) {
      return {known.status().code(), fmt::format("LACUNA_ALGORITHMS: {}", known.status().message())};
    }
    job.algorithms[static_cast<std::size_t>(collective)] = name;
  }
  return {};
}

/// Makes the communicator of all processes, if there are aggregators. It comes after that of all ranks, which lists of
/// communicators show first.
void make_hall(JobState& job, std::uint64_t world) {
  if (job.aggregators == 0) return;
  const std::uint64_t id = Digest().add(world).add("aggregators").value();
  job.hall = std::make_unique<runtime::Communicator>(*job.executor, id, Group(job.executor->size()), job.hosts);
}

/// How the processes find each other, if not at a store.
struct Meeting {
  runtime::Share share{};
  UniqueId id{};
  runtime::Interrupted interrupted{};
};

/// A segment as bytes of a message: none if it has no length.
std::vector<std::byte> bytes_of(const MappableSegment& segment) {
  const auto bytes = std::as_bytes(std::span(&segment, 1));
  return segment.bytes == 0 ? std::vector<std::byte>() : std::vector<std::byte>(bytes.begin(), bytes.end());
}
MappableSegment segment_of(const std::vector<std::byte>& bytes) {
  MappableSegment segment;
  if (bytes.size() == sizeof segment) std::memcpy(&segment, bytes.data(), sizeof segment);
  return segment;
}

using Prepare = std::function<void(std::uint64_t world, const std::shared_ptr<std::byte>& board)>;

/// Joins the job as one of its processes. `prepare` makes what messages may come for as soon as the process is
/// connected: the communicator of all ranks, whose id it gets, with the memory of its board or null.
Status enter_job(const std::shared_ptr<JobState>& job, const Meeting& meeting, const Prepare& prepare) {
  const runtime::Config& config = job->config;
  const Rank size = processes_of(config), rank = config.rank.value_or(0);
  runtime::set_log_rank(rank);
  const auto kernels = kernels_of(config);
  if (!kernels) return kernels.status();
  if (Status writable = prepare_folders(job->config); !writable) return writable;
  if (Status enough = runtime::check_descriptors(rank, size); !enough) return enough;
  MappableHeap::of_process().set_bound(config.mappable);
  std::unique_ptr<Transport> transport;
  OfferedBoard board(size);
  const auto start_transport = [&](const runtime::Gathering& gathering) -> Result<std::vector<std::byte>> {
    if (config.board) board.take(segment_of(gathering.offer));
    const UcxOptions options{.on_one_host = gathering.on_one_host,
                             .shares_memory = gathering.shares_memory,
                             .ranks = static_cast<std::size_t>(size),
                             .host = Digest().add(config.host).add(config.machine).value()};
    auto started = make_ucx(options);
    if (!started) return started.status();
    if (const std::string why = why_ucx_listens(options); !why.empty()) {
      runtime::log_info(Subsystem::Transport, "UCX listens at a port, because {}", why);
    }
    transport = *std::move(started);
    return runtime::entry_of(config, transport->address(), board.memory() != nullptr);
  };
  auto membership = runtime::join({.rank = rank,
                                   .size = size,
                                   .store = config.store,
                                   .share = meeting.share,
                                   .id = meeting.id,
                                   .key = config.key,
                                   .host = config.host,
                                   .machine = config.machine,
                                   .reach = ucx_reach({.ranks = static_cast<std::size_t>(size)}),
                                   .offer = [&] { return bytes_of(config.board ? board.make() : MappableSegment()); },
                                   .timeout = config.bootstrap_timeout,
                                   .interrupted = meeting.interrupted,
                                   .silence = config.watch_timeout},
                                  start_transport);
  if (!membership) return membership.status();
  auto told = runtime::read_entries(membership->addresses);
  if (!told) return told.status();
  membership->aggregators = aggregators_of(config);

  job->id = membership->nonce;
  job->host_names = membership->hosts;
  job->hosts = membership->grouping().with_processors(told->processors);
  const auto options = executor_options(config, **kernels, crowded(job->hosts, rank));
  job->executor = std::make_unique<runtime::Executor>(std::move(transport), rank, size, options);
  job->aggregators = membership->aggregators;
  const bool is_shared = told->all_see_board && job->aggregators == 0;
  prepare(membership->nonce, is_shared ? board.memory() : nullptr);
  make_hall(*job, membership->nonce);
  auto watch = runtime::Watch::start(*membership, *job->executor);
  if (!watch) return watch.status();
  job->watch = std::move(*watch);
  job->executor->set_reporter([&watch = *job->watch](const runtime::Trouble& trouble) { watch.report(trouble); });
  if (Status connected = job->executor->connect(std::move(told->addresses)); !connected) return connected;
  job->is_connected = true;
  if (job->executor->tracer()) job->watch->compare_clocks(longest_clock_comparison);
  return {};
}

Status join_job(const std::shared_ptr<JobState>& job, const Meeting& meeting, const Prepare& prepare) {
  try {
    return enter_job(job, meeting, prepare);
  } catch (const std::bad_alloc&) {
    return {Code::Internal, "the system has no memory for joining the job"};
  }
}

/// The id of the communicator of all ranks that are in one process.
constexpr std::uint64_t local_world = 1;

/// An aggregator in the process of the ranks, before its thread starts.
struct LocalAggregator {
  std::shared_ptr<JobState> job;
  std::unique_ptr<runtime::Aggregator> aggregator;
};

}  // namespace

Result<std::shared_ptr<GroupState>> join_world(const runtime::Config& given, const Registry& registry,
                                               runtime::Sharing& sharing, const UniqueId& id,
                                               const runtime::Interrupted& interrupted) {
  hold_standard_streams();
  runtime::Config config = given;
  if (Status placed = runtime::take_place(config, sharing); !placed) return placed;
  if (Status valid = runtime::check_rank(config, !sharing.is_possible() && !id); !valid) return valid;
  if (processes_of(config) == 1) {
    auto alone = make_local(1, config.progress, registry);
    if (!alone) return alone.status();
    return std::move(alone->front());
  }
  auto job = std::make_shared<JobState>(config);
  const Rank size = config.size.value_or(1);
  if (Status taken = take_algorithms(config, size, registry, *job); !taken) return taken;
  std::shared_ptr<GroupState> world;
  const auto prepare = [&](std::uint64_t nonce, const std::shared_ptr<std::byte>& board) {
    world = make_group(job, nonce, world_key, job->world(), board);
  };
  if (Status joined = join_job(job, {sharing.once(), id, interrupted}, prepare); !joined) return joined;
  if (job->hall) world->communicator.announce_on(*job->hall);
  runtime::log_info(Subsystem::Job, "rank {} of {} on {}", config.rank.value_or(0), size, config.host);
  return world;
}

Status aggregate(const runtime::Config& config, const Registry& registry) {
  hold_standard_streams();
  if (Status valid = runtime::check_aggregator(config); !valid) return valid;
  auto job = std::make_shared<JobState>(config);
  job->config.progress = Progress::Caller;
  job->config.max_runs *= 2;  // a rank may begin as many calls again while a slow one has not ended its last ones
  std::optional<runtime::Aggregator> aggregator;
  const auto prepare = [&](std::uint64_t world, const auto&) { aggregator.emplace(*job, registry, world); };
  if (Status joined = join_job(job, {}, prepare); !joined) return joined;
  runtime::log_info(Subsystem::Job, "aggregator {} of {} on {}", *config.rank - *config.size, aggregators_of(config),
                    config.host);
  Status served = aggregator->serve();
  if (!served) job->watch.reset();  // without a goodbye, so that no rank waits for this process
  return served;
}

Result<std::vector<std::shared_ptr<GroupState>>> make_local(Rank size, Progress progress, const Registry& registry,
                                                            Rank aggregators) {
  if (size < 1)
    return Status(Code::InvalidArgument, fmt::format("a job of {}; there must be at least 1", count_of(size, "rank")));
  hold_standard_streams();
  auto config = runtime::Config::from_environment();
  if (!config) return config.status();
  const auto kernels = kernels_of(*config);
  if (!kernels) return kernels.status();
  if (Status writable = prepare_folders(*config); !writable) return writable;
  config->progress = progress;
  config->aggregators = aggregators;
  std::vector<std::shared_ptr<GroupState>> ranks;
  const auto threads = std::make_shared<runtime::AggregatorThreads>();
  std::vector<LocalAggregator> local;
  const Rank processes = size + aggregators;
  auto watch = std::make_shared<runtime::LocalWatch>(processes, aggregators);
  auto transports = make_inproc(processes, {});
  const auto id = static_cast<std::uint64_t>(runtime::Clock::now().time_since_epoch().count());
  const auto board = config->board && aggregators == 0 ? Board::local_memory(size) : nullptr;
  std::vector<std::vector<std::byte>> addresses;
  for (const auto& transport : transports) addresses.push_back(transport->address());
  for (Rank rank = 0; rank < processes; ++rank) {
    auto job = std::make_shared<JobState>(*config);
    if (Status taken = take_algorithms(*config, size, registry, *job); !taken) return taken;
    job->id = id;
    job->host_names.assign(static_cast<std::size_t>(processes), config->host);
    job->hosts = processes;
    auto options = executor_options(*config, **kernels, crowded(job->hosts, rank));
    if (rank >= size) options.progress_thread = false;
    job->executor = std::make_unique<runtime::Executor>(std::move(transports[static_cast<std::size_t>(rank)]), rank,
                                                        processes, options);
    job->aggregators = aggregators;
    job->local_watch = watch;
    watch->join(rank, *job->executor);
    job->executor->set_reporter([watch, rank](const runtime::Trouble& trouble) { watch->report(rank, trouble); });
    if (rank >= size) {
      local.push_back({job, std::make_unique<runtime::Aggregator>(*job, registry, local_world)});
    } else {
      job->threads = threads;
      ranks.push_back(make_group(job, local_world, world_key, job->world(), board));
    }
    make_hall(*job, local_world);
    if (rank < size && job->hall) ranks.back()->communicator.announce_on(*job->hall);
  }
  std::vector<JobState*> jobs;
  for (auto& rank : ranks) jobs.push_back(rank->job.get());
  for (auto& one : local) jobs.push_back(one.job.get());
  for (JobState* job : jobs) {
    if (Status connected = job->executor->connect(addresses); !connected) return connected;
  }
  for (JobState* job : jobs) job->is_connected = true;
  for (auto& [job, aggregator] : local) threads->start(std::move(job), std::move(aggregator));
  return ranks;
}

}  // namespace lacuna
