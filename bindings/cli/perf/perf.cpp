#include "bindings/cli/perf/perf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/explain/cost.hpp"
#include "bindings/cli/perf/bench.hpp"
#include "bindings/cli/perf/copies.hpp"
#include "bindings/cli/perf/data.hpp"
#include "bindings/cli/perf/method.hpp"
#include "bindings/cli/perf/placement.hpp"
#include "bindings/cli/perf/timing.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cpp/agree.hpp"
#include "bindings/cpp/lacuna.hpp"
#include "runtime/config/config.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/values/count_of.hpp"
#include "transports/mapped_segment.hpp"

namespace lacuna::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int most_timed_iterations = 1 << 20;

/// Returns nccl-tests' factor between algorithm and bus bandwidth.
double bus_factor(Collective collective, Rank size) {
  const double p = size;
  switch (collective) {
    case Collective::Allreduce:
      return 2 * (p - 1) / p;
    default:
      return has_blocks(collective) ? (p - 1) / p : 1;
  }
}

Status measure(Bench& bench, std::size_t bytes, PerfFigures& figures) {
  const PerfOptions& options = bench.options;
  if (Status ready = bench.prepare(); !ready) return ready;
  if (const auto warm = bench.time_rounds(options.warmup); !warm) return warm.status();
  Phases phases(bench);
  Copies copies(bench);
  const auto timing = options.iterations ? time_iterations(bench, *options.iterations) : time_until_stable(bench);
  if (!timing) return timing.status();
  const auto shares = ranks_share_processors(bench.communicator);
  if (!shares) return shares.status();
  figures.shares_processor = *shares;
  figures.iterations = timing->iterations;
  figures.spread = timing->spread;
  figures.payload_bytes = timing->payload / options.operations;
  const double seconds = timing->seconds / options.operations;
  if (Status status = phases.measure(figures); !status) return status;
  if (Status status = copies.measure(figures); !status) return status;
  figures.microseconds = seconds * 1e6;
  figures.algorithm_bandwidth = static_cast<double>(bytes) / seconds / 1e9;
  figures.bus_bandwidth = serves(options, bench.algorithm)
                              ? figures.payload_bytes / seconds / 1e9
                              : figures.algorithm_bandwidth * bus_factor(options.collective, bench.communicator.size());
  return {};
}

/// Measures once more and looks at the clock after each iteration. In measure() that would cost a short call too much.
Status measure_percentiles(Bench& bench, PerfFigures& figures) {
  const Call call = bench.call();
  std::vector<double> times(static_cast<std::size_t>(std::min(figures.iterations, most_timed_iterations)));
  if (Status status = bench.communicator.call(barrier()); !status) return status;
  auto before = Clock::now();
  for (double& time : times) {
    if (bench.is_overwritten()) {
      const auto alone = bench.time_rounds(1);
      if (!alone) return alone.status();
      time = *alone * 1e6;
      continue;
    }
    if (Status status = bench.round(call, bench.options.operations); !status) return status;
    const auto after = Clock::now();
    time = std::chrono::duration<double, std::micro>(after - std::exchange(before, after)).count();
  }
  if (Status status = bench.communicator.call(allreduce(times, times, Reduction::Max)); !status) return status;
  figures.percentiles = percentiles_of(std::move(times));
  return {};
}

Status measure_payload(Bench& bench, std::uint64_t& payload, PerfReport& report) {
  if (Status ready = bench.prepare(); !ready) return ready;
  const std::uint64_t before = bench.communicator.counters().payload_sent;
  Report mine;
  if (Status status = bench.round(bench.call(), mine); !status) return status;
  double sent = static_cast<double>(bench.communicator.counters().payload_sent - before);
  if (Status status = over_ranks(bench.communicator, Reduction::Max, sent); !status) return status;
  payload = static_cast<std::uint64_t>(sent);
  return bench.options.method ? measure_report(bench, mine, report) : Status::ok();
}

/// Measures the times, with the background in flight if there is one.
Status measure_times(Bench& bench, Background* background, std::size_t bytes, PerfFigures& figures) {
  bench.background = background;
  if (Status status = measure(bench, bytes, figures); !status) return status;
  if (bench.options.percentiles) {
    if (Status status = measure_percentiles(bench, figures); !status) return status;
  }
  bench.background = nullptr;
  return background ? background->finish(bench.communicator) : Status::ok();
}

Status measure_row(Bench& bench, Background* background, std::size_t chunk_bytes, PerfRow& row) {
  const int started_before = background ? background->started() : 0;
  for (bool in_place : {false, true}) {
    if (in_place && bench.options.messages) break;
    bench.in_place = in_place;
    PerfFigures& figures = in_place ? row.in_place : row.out_of_place;
    if (bench.options.check) {
      if (Status status = check_once(bench, chunk_bytes, figures); !status) return status;
    }
    if (Status status = measure_times(bench, background, row.bytes, figures); !status) return status;
  }
  if (background) row.beside = background->started() - started_before;
  return measure_payload(bench, row.payload_bytes, row.report);
}

Status check_options(const PerfOptions& options, Communicator& communicator) {
  if (options.begin_bytes > options.end_bytes) {
    return {Code::InvalidArgument, fmt::format("sizes from {} to {}: -b must be at most -e", options.begin_bytes,
                                               count_of(options.end_bytes, "byte"))};
  }
  if (options.root >= communicator.size()) {
    return {Code::InvalidArgument, fmt::format("root is {}, must be 0 .. {}", options.root, communicator.size() - 1)};
  }
  if (options.messages && (!options.algorithms.empty() || options.method)) {
    return {Code::InvalidArgument, "sendrecv takes neither --algorithm nor --method"};
  }
  std::vector<std::string> names = options.algorithms;
  if (names.empty()) names.emplace_back();
  const auto serving = [&](const std::string& name) { return serves(options, name); };
  if (options.method && std::none_of(names.begin(), names.end(), serving)) {
    return {Code::InvalidArgument, fmt::format("--method is given, but none of the algorithms serves {}; see `lacuna "
                                               "list {}`",
                                               options.method.method()->name, options.method.method()->name)};
  }
  for (const std::string& name : names) {
    Call call{.collective = options.collective, .dtype = options.dtype, .reduction = options.reduction};
    call.options.algorithm = name;
    MethodState state;
    if (serving(name)) {
      call.options.method = options.method;
      call.options.state = &state;
    }
    if (const auto found = communicator.algorithm_name(call); !found) return found.status();
  }
  return {};
}

/// What a row measures.
struct Case {
  std::size_t bytes = 0;
  std::optional<double> density;
  std::string algorithm;
};

std::vector<Case> cases_of(const PerfOptions& options) {
  std::vector<std::optional<double>> densities(options.densities.begin(), options.densities.end());
  if (densities.empty()) densities.emplace_back();
  std::vector<std::string> names = options.algorithms;
  if (names.empty()) names.emplace_back();
  std::vector<Case> cases;
  for (std::size_t bytes = options.begin_bytes; bytes <= options.end_bytes; bytes *= options.factor) {
    for (const std::optional<double>& density : densities) {
      for (const std::string& name : names) cases.push_back({bytes, density, name});
    }
    if (bytes == 0 || !moves_data(options.collective)) break;
  }
  return cases;
}

Result<PerfRow> measure_case(Bench& bench, const Case& asked, Background* background, std::size_t chunk_bytes) {
  const PerfOptions& options = bench.options;
  Communicator& communicator = bench.communicator;
  const std::size_t blocks = has_blocks(options.collective) ? static_cast<std::size_t>(communicator.size()) : 1;
  const std::size_t divisor = size_of(options.dtype) * blocks;
  bench.count = moves_data(options.collective) ? asked.bytes / divisor : 0;
  if (asked.density) {
    PatternOptions pattern = options.pattern;
    pattern.density = *asked.density;
    bench.pattern.emplace(pattern, bench.count * (traits_of(options.collective).input == Holds::Blocks ? blocks : 1));
  }
  PerfRow row;
  row.count = bench.count;
  row.bytes = bench.count * divisor;
  row.density = asked.density;
  row.algorithm = options.messages ? "-" : *communicator.algorithm_name(bench.call());
  if (Status status = measure_row(bench, background, chunk_bytes, row); !status) return status;
  return row;
}

Result<std::vector<PerfRow>> measure_all(const PerfOptions& options, Communicator& communicator,
                                         kernels::Device* device, std::size_t chunk_bytes) {
  std::vector<PerfRow> rows;
  std::unique_ptr<Background> background;
  if (options.beside > 0) {
    auto made = Background::make(communicator, options.beside);
    if (!made) return made.status();
    background = *std::move(made);
  }
  for (const Case& asked : cases_of(options)) {
    Bench bench{.communicator = communicator, .options = options, .algorithm = asked.algorithm, .device = device};
    auto row = measure_case(bench, asked, background.get(), chunk_bytes);
    if (!row) return row.status();
    if (communicator.job_ranks()[0] == 0 && communicator.rank() == 0) write_out("{}", perf_line(options, *row));
    flush_output();
    rows.push_back(*std::move(row));
  }
  return rows;
}

/// Opens the first device that this process sees, if --device asks for one.
Result<kernels::Device*> open_device(const PerfOptions& options) {
  if (!is_on_device(options.device)) return static_cast<kernels::Device*>(nullptr);
  if (options.mapped) {
    return Status(Code::InvalidArgument, "--memory mapped is for buffers of the host; --device is cuda");
  }
  auto device = kernels::open_device(0);
  if (device) return device;
  return Status(device.status().code(), fmt::format("--device cuda: {}", device.status().message()));
}

std::string text_of_mapped_memory() {
  const Status mapped = memory_can_be_mapped();
  if (mapped) return "# buffers in memory that the ranks of a host map\n";
  return fmt::format("# buffers in memory that other ranks can't map: {}\n", mapped.message());
}

/// Joins the group of this rank. Its ranks are neighbours in the job.
Result<Communicator> join_group(Communicator world, int groups) {
  if (groups == 1) return world;
  auto part = world.split(world.rank() * groups / world.size());
  if (!part) return part.status();
  return **std::move(part);
}

}  // namespace

int perf(const PerfOptions& options) {
  const auto fail = [](const Status& status) {
    write_error("lacuna perf: {}\n", status.message());
    return 1;
  };
  const auto config = runtime::Config::from_environment();
  if (!config) return fail(config.status());
  auto world = Communicator::world();
  if (!world) return fail(world.status());
  if (options.groups > world->size()) {
    if (world->rank() > 0) return 1;
    return fail({Code::InvalidArgument, fmt::format("--groups is {}, must be 1 .. {}", options.groups, world->size())});
  }
  auto communicator = join_group(*std::move(world), options.groups);
  if (!communicator) return fail(communicator.status());
  const bool leads = communicator->rank() == 0, reports = leads && communicator->job_ranks().front() == 0;
  const bool writes = reports && !options.json_path.empty();
  const auto device = open_device(options);
  Status ready = device ? check_options(options, *communicator) : device.status();
  if (ready && writes) ready = check_writable(options.json_path);
  if (Status agreed = agree(*communicator, ready); !agreed) return leads ? fail(agreed) : 1;
  if (Status warm = warm_connections(*communicator); !warm) return fail(warm);
  if (reports) {
    if (*device) write_out("# buffers on a device: {}\n", (*device)->name());
    if (options.mapped) write_out("{}", text_of_mapped_memory());
    write_out("{}", perf_header(options, communicator->size(), communicator->hosts()));
  }
  const auto rows = measure_all(options, *communicator, *device, config->chunk);
  if (!rows) return fail(rows.status());
  if (reports) {
    write_out("{}", perf_footer(*rows));
    Status written;
    if (writes) written = write_perf_json(options, communicator->size(), communicator->hosts(), *rows);
    if (!written) return fail(written);
  }
  const bool wrong = std::any_of(rows->begin(), rows->end(), [](const PerfRow& row) {
    return row.out_of_place.wrong.value_or(0) + row.in_place.wrong.value_or(0) > 0;
  });
  return wrong ? 1 : 0;
}

}  // namespace lacuna::cli
