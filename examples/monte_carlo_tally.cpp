// Sums the mesh tally of a Monte Carlo transport code over ranks, densely and as what it is: some blocks of a large
// mesh. Each rank follows its share of a batch's histories. They start at a few sources, so the rank scores near some
// of these only. Scores are multiples of 2^-20, so sums are exact in any order. Each way must give the same bits, on
// any number of ranks; otherwise the program fails. The list of scores is handed over in the order in which they were
// scored, and is sorted then. The more often a bin is scored, the longer that takes, and the better it is to look
// through the dense tally.
//   lacuna launch -n 4 -- ./example_monte_carlo_tally --particles 100000 --cells 96 --batches 5
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <lacuna/algorithms/topk/topk.hpp>
#include <lacuna/lacuna.hpp>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "monte_carlo_transport.hpp"

namespace {

using lacuna::Communicator;
using lacuna::Status;

constexpr std::size_t most_cells = 800;  // along a side; with more, places would need more than 32 bits

struct Options {
  std::size_t particles = 100'000, cells = 96, batches = 5;  // histories in a batch; cells along each side
};

/// One way to sum the tally, and what it has cost this rank.
struct Way {
  const char* name;
  double batches = 0, seconds = 0, bytes = 0;
  double sent = 0, summed = 0;  // bins that this rank has sent, and bins that the sum has

  Status run(Communicator& world, const lacuna::TypedCall& call) {
    if (Status all_here = world.call(lacuna::barrier()); !all_here) return all_here;
    const std::uint64_t before = world.counters().payload_sent;
    const auto start = std::chrono::steady_clock::now();
    auto request = world.start(call);
    if (!request) return request.status();
    if (Status ended = request->wait(); !ended) return ended;
    ++batches;
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    bytes += static_cast<double>(world.counters().payload_sent - before);
    const lacuna::Report report = request->report();
    sent += report.method ? report.measures.value("entries_selected") : static_cast<double>(call.input);
    return {};
  }
};
constexpr std::array<Way, 4> ways = {{{"dense"}, {"sparse_split"}, {"scores to dense"}, {"scores to entries"}}};

/// One rank's tally, and the sum of all ranks' tallies.
class Sums {
 public:
  Sums(Communicator& world, std::size_t bins)
      : tally{std::vector<double>(bins)}, dense(bins), sum_(bins), world_(world) {}

  /// Sums in all ways. It is an error if one of them gives other bits than the dense one.
  Status add_up() {
    if (Status done = costs[0].run(world_, lacuna::allreduce(tally.bins, dense)); !done) return done;
    costs[0].summed += static_cast<double>(dense.size());
    filled_ = dense.size() - static_cast<std::size_t>(std::ranges::count(dense, 0.0));

    lacuna::SparseInput<double> scored(tally.places, tally.scores, dense.size());
    if (Status same = to_dense(costs[1], lacuna::allreduce(tally.bins, sum_, {}, sparse_)); !same) return same;
    if (Status same = to_dense(costs[2], lacuna::allreduce(scored, sum_, {}, sparse_)); !same) return same;
    return to_entries(costs[3], scored);
  }

  transport::Tally tally;
  std::vector<double> dense;
  std::array<Way, 4> costs = ways;

 private:
  Status check(Way& way, bool same) {
    way.summed += static_cast<double>(filled_);
    if (same) return {};
    return {lacuna::Code::Internal, std::string(way.name) + ": the sum differs from the dense one"};
  }

  Status to_dense(Way& way, const lacuna::TypedCall& call) {
    std::ranges::fill(sum_, -1);
    if (Status done = way.run(world_, call); !done) return done;
    return check(way, sum_ == dense);
  }

  Status to_entries(Way& way, const lacuna::SparseInput<double>& scored) {
    auto room = static_cast<std::int64_t>(scored.places.size());  // the sum has no more bins than there are scores
    const std::span one(&room, 1);
    if (Status done = world_.call(lacuna::allreduce(one, one)); !done) return done;
    std::vector<std::uint32_t> places(std::min(dense.size(), static_cast<std::size_t>(room)));
    std::vector<double> values(places.size());
    std::size_t entries = 0;
    lacuna::SparseOutput<double> listed(places, values, dense.size(), entries);
    if (Status done = way.run(world_, lacuna::allreduce(scored, listed, {}, sparse_)); !done) return done;
    std::ranges::fill(sum_, 0);
    for (std::size_t i = 0; i < entries; ++i) sum_[places[i]] = values[i];
    return check(way, entries == filled_ && sum_ == dense);
  }

  std::vector<double> sum_;
  std::size_t filled_ = 0;
  Communicator& world_;
  lacuna::Options sparse_{.algorithm = "sparse_split", .method = lacuna::topk({.density = 1, .feedback = false})};
};

/// Prints the means over batches and ranks, on rank 0.
Status print(Communicator& world, std::array<Way, 4>& costs) {
  for (Way& way : costs) {
    std::array mean = {way.seconds, way.bytes, way.sent, way.summed};
    for (double& number : mean) number /= way.batches;
    if (Status done = world.call(lacuna::allreduce(mean, mean, lacuna::Reduction::Avg)); !done) return done;
    way = {way.name, way.batches, mean[0], mean[1], mean[2], mean[3]};
  }
  if (world.rank() != 0) return {};
  std::printf("%-18s %10s %14s %10s %10s %8s %11s %12s\n", "a batch, a rank", "time", "bytes", "bins", "of sum",
              "fill-in", "time/dense", "bytes/dense");
  for (const Way& way : costs) {
    std::printf("%-18s %7.1f ms %11.3f MB %10.0f %10.0f %8.2f %11.3f %12.4f\n", way.name, way.seconds * 1e3,
                way.bytes / 1e6, way.sent, way.summed, way.summed / way.sent, way.seconds / costs[0].seconds,
                way.bytes / costs[0].bytes);
  }
  return {};
}

Status simulate(Communicator& world, const Options& options) {
  using transport::kinds, transport::sources;
  Sums sums(world, options.cells * options.cells * options.cells * transport::groups * kinds);
  const auto rank = static_cast<std::size_t>(world.rank()), size = static_cast<std::size_t>(world.size());
  std::array<double, kinds> totals{};
  for (std::size_t batch = 0; batch < options.batches; ++batch) {
    sums.tally.clear();
    for (std::size_t i = options.particles * rank / size; i < options.particles * (rank + 1) / size; ++i) {
      transport::follow(batch * options.particles + i, i * sources / options.particles, options.cells, sums.tally);
    }
    if (Status same = sums.add_up(); !same) return same;
    for (std::size_t bin = 0; bin < sums.dense.size(); ++bin) totals[bin % kinds] += sums.dense[bin];
    if (batch == 0 && options.batches > 1) sums.costs = ways;  // memory was touched for the first time: do not count it
  }
  if (world.rank() == 0) {
    std::printf("%zu bins, %zu batches of %zu histories on %zu rank(s): %.0f collisions, track length %.6f\n",
                sums.dense.size(), options.batches, options.particles, size, totals[0], totals[1]);
  }
  return print(world, sums.costs);
}

bool parse(std::span<char*> arguments, Options& options) {
  const std::map<std::string_view, std::size_t*> numbers = {
      {"--particles", &options.particles}, {"--cells", &options.cells}, {"--batches", &options.batches}};
  for (std::size_t i = 1; i < arguments.size(); i += 2) {
    const auto number = numbers.find(arguments[i]);
    if (number == numbers.end() || i + 1 == arguments.size()) return false;
    *number->second = std::strtoull(arguments[i + 1], nullptr, 10);
  }
  return options.particles > 0 && options.cells > 0 && options.cells <= most_cells && options.batches > 0;
}

int fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse({argv, static_cast<std::size_t>(argc)}, options)) {
    std::fprintf(stderr, "usage: %s [--particles N] [--cells N, at most %zu along a side] [--batches N]\n", argv[0],
                 most_cells);
    return 2;
  }
  auto world = Communicator::world();
  if (!world) return fail(world.status());
  const Status done = simulate(*world, options);
  return done ? 0 : fail(done);
}
