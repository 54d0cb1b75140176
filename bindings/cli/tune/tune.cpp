#include "bindings/cli/tune/tune.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <set>
#include <string>

#include "algorithms/registry/registry.hpp"
#include "bindings/cli/explain/cost.hpp"
#include "bindings/cli/perf/bench.hpp"
#include "bindings/cli/perf/timing.hpp"
#include "bindings/cli/shared/agree.hpp"
#include "bindings/cli/shared/message_times.hpp"
#include "bindings/cli/shared/quantities.hpp"
#include "runtime/files/output_folder.hpp"
#include "runtime/values/count_of.hpp"
#include "runtime/values/processors.hpp"

namespace lacuna::cli {
namespace {

constexpr std::size_t sizes[] = {8,         1 << 10, 4 << 10, 16 << 10, 64 << 10,
                                 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20};
constexpr std::string_view algorithm = "recursive_doubling";  // each of its messages has all of the data
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

/// Returns how many seconds one message takes.
Result<double> time_message(Communicator& world, const PerfOptions& options, std::size_t bytes) {
  Bench bench{.communicator = world,
              .options = options,
              .algorithm = std::string(algorithm),
              .count = bytes / size_of(options.dtype)};
  if (Status ready = bench.prepare(); !ready) return ready;
  if (const auto warmed = bench.time_rounds(warmup); !warmed) return warmed.status();
  const Result<Timing> timing = time_until_stable(bench);
  if (!timing) return timing.status();
  Call call = bench.call();
  const auto chosen = select_algorithm(call, Hosts(world.size()));
  if (!chosen) return chosen.status();
  return timing->seconds / cost_of(**chosen, Hosts(world.size()), call.count, call.dtype).steps;
}

}  // namespace

int tune(const std::string& path) {
  const auto fail = [](const Status& status) {
    fmt::print(stderr, "lacuna tune: {}\n", status.message());
    return 1;
  };
  auto joined = Communicator::world();
  if (!joined) return fail(joined.status());
  Communicator world = *std::move(joined);
  const bool leads = world.rank() == 0;
  if (Status agreed = agree(world, check(world, path)); !agreed) return leads ? fail(agreed) : 1;
  if (Status warm = warm_connections(world); !warm) return fail(warm);
  MessageTimes times{.ranks = world.size(), .processors = usable_processors()};
  const PerfOptions options;
  for (const std::size_t bytes : sizes) {
    const Result<double> seconds = time_message(world, options, bytes);
    if (!seconds) return fail(seconds.status());
    times.points.push_back({static_cast<double>(bytes), *seconds});
    if (leads) fmt::print("{:>10} {:>12}\n", quantity::Size::text(bytes), quantity::Duration::text(*seconds));
  }
  if (!leads) return 0;
  const Status written = write_whole(path, [&](std::FILE* file) {
    put(file, json_text(times.json()));
    return Status::ok();
  });
  if (!written) return fail(written);
  fmt::print("written to {}, for `lacuna explain --tuned {}`\n", path, path);
  return 0;
}

}  // namespace lacuna::cli
