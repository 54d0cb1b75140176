#include "runtime/job/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

#include "kernels/backend.hpp"
#include "runtime/engine/encoding.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/job/descriptors.hpp"
#include "runtime/job/launchers.hpp"
#include "runtime/job/local_watch.hpp"
#include "runtime/job/names.hpp"
#include "runtime/observe/counters_text.hpp"
#include "runtime/observe/log.hpp"
#include "runtime/observe/trace_file.hpp"
#include "runtime/values/count_of.hpp"
#include "transports/inproc.hpp"
#include "transports/ucx.hpp"

namespace lacuna {

void JobState::write_trace(const runtime::ClockRelation& clock) const {
  const runtime::Tracer* tracer = executor->tracer();
  if (!tracer) return;
  const Rank rank = executor->rank();
  const TraceOrigin origin{.job = id,
                           .rank = rank,
                           .size = executor->size(),
                           .host = host_names[static_cast<std::size_t>(rank)],
                           .scale = executor->time_scale(),
                           .clock = clock};
  const auto path = std::filesystem::path(config.trace) / fmt::format("rank-{}.trace.json", rank);
  if (Status written = lacuna::write_trace(path, *tracer, origin); !written) {
    runtime::log_error(Subsystem::Trace, "{}", written.message());
  } else if (tracer->dropped() > 0) {
    runtime::log_warning(Subsystem::Trace, "{} had no room in {}: LACUNA_TRACE_EVENTS is {}",
                         count_of(tracer->dropped(), "later event"), path.string(), config.trace_events);
  }
}

namespace {

constexpr std::chrono::milliseconds longest_clock_comparison{1000};

/// What a rank tells the others when it joins: where its transport is reached, and what must be equal on all ranks.
std::vector<std::byte> entry_of(const runtime::Config& config, const std::vector<std::byte>& address) {
  runtime::Encoder entry;
  entry.put(std::uint64_t{config.credits}).put(address);
  return {entry.bytes().begin(), entry.bytes().end()};
}

/// The addresses of all ranks, from the entry of each rank. If what must be equal differs, the error is Mismatch on all
/// ranks.
Result<std::vector<std::vector<std::byte>>> addresses_of(const std::vector<std::vector<std::byte>>& entries) {
  std::vector<std::vector<std::byte>> addresses;
  std::map<std::size_t, std::vector<Rank>> credits;
  for (std::size_t rank = 0; rank < entries.size(); ++rank) {
    runtime::Decoder entry(entries[rank]);
    credits[entry.get<std::uint64_t>()].push_back(static_cast<Rank>(rank));
    addresses.push_back(entry.bytes(entries[rank].size()));
    if (!entry.complete()) return Status(Code::Internal, fmt::format("rank {} told no address", rank));
  }
  if (credits.size() == 1) return addresses;
  std::vector<std::pair<std::vector<Rank>, std::size_t>> sides;
  for (auto& [bytes, ranks] : credits) sides.emplace_back(std::move(ranks), bytes);
  std::sort(sides.begin(), sides.end());
  std::string text;
  for (const auto& [ranks, bytes] : sides) {
    text += fmt::format("{} {} {}; ", runtime::name_ranks(ranks), ranks.size() == 1 ? "has" : "have",
                        runtime::variable::Bytes::format(bytes));
  }
  return Status(Code::Mismatch, fmt::format("LACUNA_CREDITS differs: {}it must be the same on all ranks", text));
}

/// Are there more ranks than cores on this host? Then polling would only take time from other ranks.
bool crowded(const Hosts& hosts, Rank rank) {
  unsigned here = 0;
  for (Rank other = 0; other < hosts.size(); ++other) here += hosts.host_of(other) == hosts.host_of(rank);
  return here > std::thread::hardware_concurrency();
}

runtime::ExecutorOptions executor_options(const runtime::Config& config, const kernels::Backend& kernels,
                                          bool is_crowded) {
  return {.window_bytes = config.window,
          .credit_bytes = config.credits,
          .eager_bytes = config.eager,
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

Status check(const runtime::Config& config) {
  const Rank size = config.size.value_or(1), rank = config.rank.value_or(0);
  if (!config.rank && !config.size) {
    if (Status alone = runtime::check_launchers(); !alone) return alone;
  }
  if (config.rank && !config.size) {
    return {Code::InvalidArgument,
            fmt::format("the rank is {}, but LACUNA_SIZE is not set: how many ranks has the job?", *config.rank)};
  }
  if (!config.rank && size != 1) {
    return {Code::InvalidArgument,
            fmt::format("the job's size is {}, but LACUNA_RANK is not set: which of its ranks is this?", size)};
  }
  if (!config.size && !config.store.empty()) {
    return {Code::InvalidArgument, fmt::format("LACUNA_STORE is {}, but LACUNA_RANK and LACUNA_SIZE are not set: a job "
                                               "of one rank needs no store",
                                               config.store)};
  }
  if (size < 1 || rank < 0 || rank >= size) {
    return {Code::InvalidArgument, fmt::format("rank {} of {}: the rank must be 0 .. size - 1", rank, size)};
  }
  if (size > 1 && config.store.empty()) {
    return {Code::InvalidArgument,
            fmt::format("a job of {} ranks needs LACUNA_STORE, host:port where rank 0 listens", size)};
  }
  return {};
}

/// Takes the algorithms of LACUNA_ALGORITHMS, if they serve a job of so many ranks.
Status take_algorithms(const runtime::Config& config, Rank size, SelectAlgorithm select, JobState& job) {
  for (const auto& [collective, name] : config.algorithms) {
    Call call{.collective = collective};
    call.options.algorithm = name;
    if (const auto known = select(call, size, {}); !known) {
      return {known.status().code(), fmt::format("LACUNA_ALGORITHMS: {}", known.status().message())};
    }
    job.algorithms[static_cast<std::size_t>(collective)] = name;
  }
  return {};
}

}  // namespace

JobState::~JobState() {
  if (watch) watch->leave(executor->reached());
  if (local_watch) local_watch->leave(executor->rank(), executor->reached());
  if (executor) static_cast<void>(executor->close(runtime::longest_leave));
  const runtime::ClockRelation clock =
      watch ? watch->clock().value_or(runtime::ClockRelation()) : runtime::ClockRelation();
  watch.reset();
  if (!executor) return;
  executor->set_reporter(nullptr);  // the reporter may refer to the watch
  write_metrics();
  write_trace(clock);
}

JobCounters JobState::counters() const {
  JobCounters all = executor->job_counters();
  all.host = host_names[static_cast<std::size_t>(all.rank)];
  return all;
}

void JobState::write_metrics() const {
  if (config.metrics.empty()) return;
  const JobCounters all = counters();
  for (const auto& [format, ending] : {std::pair(CountersFormat::Json, "json"), {CountersFormat::Prometheus, "prom"}}) {
    const auto path = std::filesystem::path(config.metrics) / fmt::format("rank-{}.{}", all.rank, ending);
    const std::string text = counters_text(all, format);
    const Status written = write_whole(path, [&](std::FILE* file) {
      put(file, text);
      return Status::ok();
    });
    if (!written) runtime::log_error(Subsystem::Trace, "{}", written.message());
  }
}

std::shared_ptr<GroupState> make_group(std::shared_ptr<JobState> job, std::uint64_t id, std::uint64_t place,
                                       const Group& group) {
  const auto end = [](GroupState* state) {
    if (state->job->home.is_here()) delete state;
  };
  return {new GroupState(std::move(job), id, place, group), end};
}

Result<std::shared_ptr<GroupState>> join_world(const runtime::Config& config, SelectAlgorithm select) {
  if (Status valid = check(config); !valid) return valid;
  const Rank size = config.size.value_or(1), rank = config.rank.value_or(0);
  if (size == 1) {
    auto alone = make_local(1, config.progress, select);
    if (!alone) return alone.status();
    return std::move(alone->front());
  }
  runtime::set_log_rank(rank);

  const auto kernels = kernels_of(config);
  if (!kernels) return kernels.status();
  auto job = std::make_shared<JobState>(config);
  if (Status taken = take_algorithms(config, size, select, *job); !taken) return taken;
  if (Status writable = prepare_folders(job->config); !writable) return writable;
  if (Status enough = runtime::check_descriptors(rank, size); !enough) return enough;
  std::unique_ptr<Transport> transport;
  const auto start_transport = [&](bool on_one_host) -> Result<std::vector<std::byte>> {
    auto started = make_ucx({.on_one_host = on_one_host, .ranks = static_cast<std::size_t>(size)});
    if (!started) return started.status();
    transport = *std::move(started);
    return entry_of(config, transport->address());
  };
  auto membership = runtime::join({.rank = rank,
                                   .size = size,
                                   .store = config.store,
                                   .key = config.key,
                                   .host = config.host,
                                   .machine = config.machine,
                                   .timeout = config.bootstrap_timeout,
                                   .silence = config.watch_timeout},
                                  start_transport);
  if (!membership) return membership.status();
  auto addresses = addresses_of(membership->addresses);
  if (!addresses) return addresses.status();

  job->id = membership->nonce;
  job->host_names = membership->hosts;
  job->hosts = membership->grouping();
  const auto options = executor_options(config, **kernels, crowded(job->hosts, rank));
  job->executor = std::make_unique<runtime::Executor>(std::move(transport), rank, size, options);
  auto world = make_group(job, membership->nonce, world_key, Group(size));
  auto watch = runtime::Watch::start(*membership, *job->executor);
  if (!watch) return watch.status();
  job->watch = std::move(*watch);
  job->executor->set_reporter([&watch = *job->watch](const runtime::Trouble& trouble) { watch.report(trouble); });
  if (Status connected = job->executor->connect(*std::move(addresses)); !connected) return connected;
  if (job->executor->tracer()) job->watch->compare_clocks(longest_clock_comparison);
  runtime::log_info(Subsystem::Job, "rank {} of {} on {}", rank, size, config.host);
  return world;
}

Result<std::vector<std::shared_ptr<GroupState>>> make_local(Rank size, Progress progress, SelectAlgorithm select) {
  if (size < 1)
    return Status(Code::InvalidArgument, fmt::format("a job of {}; there must be at least 1", count_of(size, "rank")));
  auto config = runtime::Config::from_environment();
  if (!config) return config.status();
  const auto kernels = kernels_of(*config);
  if (!kernels) return kernels.status();
  if (Status writable = prepare_folders(*config); !writable) return writable;
  config->progress = progress;
  std::vector<std::shared_ptr<GroupState>> ranks;
  auto watch = std::make_shared<runtime::LocalWatch>(size);
  auto transports = make_inproc(size, {});
  const auto id = static_cast<std::uint64_t>(runtime::Clock::now().time_since_epoch().count());
  std::vector<std::vector<std::byte>> addresses;
  for (const auto& transport : transports) addresses.push_back(transport->address());
  for (Rank rank = 0; rank < size; ++rank) {
    auto job = std::make_shared<JobState>(*config);
    if (Status taken = take_algorithms(*config, size, select, *job); !taken) return taken;
    job->id = id;
    job->host_names.assign(static_cast<std::size_t>(size), config->host);
    job->hosts = size;
    job->executor =
        std::make_unique<runtime::Executor>(std::move(transports[static_cast<std::size_t>(rank)]), rank, size,
                                            executor_options(*config, **kernels, crowded(job->hosts, rank)));
    job->local_watch = watch;
    watch->join(rank, *job->executor);
    job->executor->set_reporter([watch, rank](const runtime::Trouble& trouble) { watch->report(rank, trouble); });
    ranks.push_back(make_group(std::move(job), 1, world_key, Group(size)));
  }
  for (auto& rank : ranks) {
    if (Status connected = rank->job->executor->connect(addresses); !connected) return connected;
  }
  return ranks;
}

}  // namespace lacuna
