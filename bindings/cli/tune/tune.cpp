#include "bindings/cli/tune/tune.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/explain/cost.hpp"
#include "bindings/cli/perf/bench.hpp"
#include "bindings/cli/perf/timing.hpp"
#include "bindings/cli/shared/message_times.hpp"
#include "bindings/cli/shared/output.hpp"
#include "bindings/cli/shared/quantities.hpp"
#include "bindings/cpp/agree.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/processors.hpp"

namespace lacuna::cli {
namespace {

/// Messages of these sizes are measured. Each message of the algorithm has all data of its call. If `in_pieces` is set,
/// it has the piece of one rank.
struct Measured {
  const char* algorithm;
  std::vector<std::size_t> sizes;
  bool in_pieces = false;
};

const Measured messages = {"recursive_doubling",
                           {8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20}};
const Measured rows = {"board", {8, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10}};
const Measured copies = {.algorithm = "direct",
                         .sizes = {8, 1 << 10, 4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10,
                                   1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20, 32 << 20},
                         .in_pieces = true};
constexpr std::size_t longest_call = 64 << 20;  // bytes
constexpr int warmup = 5;

Status check(const Communicator& world, const std::string& path) {
  const std::vector<std::string> hosts = world.hosts();
  if (world.size() < 2 || std::set(hosts.begin(), hosts.end()).size() > 1) {
    return {Code::InvalidArgument,
            fmt::format(
                "it needs two ranks or more of one host, such as `lacuna launch -n 2 -- lacuna tune`; this job has {} "
                "on {}",
                count_of(world.size(), "rank"), fmt::join(std::set(hosts.begin(), hosts.end()), ", "))};
  }
  return world.rank() == 0 ? check_writable(path) : Status();
}

/// Returns how many seconds one message takes, in calls of so many bytes.
Result<double> time_message(Communicator& world, const char* algorithm, std::size_t bytes) {
  const PerfOptions options;
  Bench bench{
      .communicator = world, .options = options, .algorithm = algorithm, .count = bytes / size_of(options.dtype)};
  if (Status ready = bench.prepare(); !ready) return ready;
  if (const auto warmed = bench.time_rounds(warmup); !warmed) return warmed.status();
  const Result<Timing> timing = time_until_stable(bench);
  if (!timing) return timing.status();
  Call call = bench.call();
  const Hosts hosts = Hosts(world.size()).with_board();
  const auto chosen = select_algorithm(call, hosts);
  if (!chosen) return chosen.status();
  return timing->seconds / messages_in_turn(cost_of(**chosen, hosts, call.count, call.dtype));
}

Result<TimeCurve> measure(Communicator& world, const Measured& what) {
  TimeCurve curve;
  const std::size_t pieces = what.in_pieces ? static_cast<std::size_t>(world.size()) : 1;
  for (const std::size_t bytes : what.sizes) {
    if (pieces * bytes > longest_call) break;
    const Result<double> seconds = time_message(world, what.algorithm, pieces * bytes);
    if (!seconds) return seconds.status();
    curve.points.push_back({static_cast<double>(bytes), *seconds});
    if (world.rank() > 0) continue;
    write_out("{:>20} {:>10} {:>12}\n", what.algorithm, quantity::Size::text(bytes),
              quantity::Duration::text(*seconds));
  }
  return curve;
}

/// Do the ranks share a board? All of them know alike.
bool has_board(const Communicator& world) {
  Call call{.collective = Collective::Allreduce};
  call.options.algorithm = rows.algorithm;
  return world.algorithm_name(call).is_ok();
}

}  // namespace

int tune(const std::string& path) {
  const auto fail = [](const Status& status) {
    write_error("lacuna tune: {}\n", status.message());
    return 1;
  };
  auto joined = Communicator::world();
  if (!joined) return fail(joined.status());
  Communicator world = *std::move(joined);
  const bool leads = world.rank() == 0;
  if (Status agreed = agree(world, check(world, path)); !agreed) return leads ? fail(agreed) : 1;
  if (Status warm = warm_connections(world); !warm) return fail(warm);
  MessageTimes times{.ranks = world.size(), .processors = usable_processors()};
  Result<TimeCurve> measured = measure(world, messages);
  if (!measured) return fail(measured.status());
  times.messages = *measured;
  if (has_board(world)) measured = measure(world, rows);
  if (!measured) return fail(measured.status());
  times.rows = *std::move(measured);
  measured = measure(world, copies);
  if (!measured) return fail(measured.status());
  times.copies = *std::move(measured);
  if (!leads) return 0;
  const Status written = write_whole(path, [&](std::FILE* file) {
    put(file, json_text(times.json()));
    return Status::ok();
  });
  if (!written) return fail(written);
  write_out("written to {}, for `lacuna explain --tuned {}`\n", path, path);
  return 0;
}

}  // namespace lacuna::cli
