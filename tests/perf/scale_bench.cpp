// What a rank costs by the number of ranks and of calls in flight: memory, the time to build a graph, the time of a
// call. All ranks live in one thread over `inproc`, so that the times are processor time and no network counts. Prints
// a line of CSV for each figure: figure,ranks,detail,value. scale.py draws them.
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

#include "algorithms/phases/left_out.hpp"
#include "algorithms/registry/registry.hpp"
#include "algorithms/skip/skip.hpp"
#include "runtime/communicator/communicator.hpp"
#include "transports/inproc.hpp"

namespace lacuna {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int repetitions = 5;  // of which the fastest counts

std::size_t memory_in_use() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

void print(const char* figure, Rank ranks, std::string_view detail, double value) {
  fmt::print("{},{},{},{:.4g}\n", figure, ranks, detail, value);
}

void must(const Status& status) {
  if (status) return;
  fmt::print(stderr, "{}\n", status.to_string());
  std::exit(EXIT_FAILURE);
}

template <class T>
T must(Result<T> result) {
  must(result.status());
  return *std::move(result);
}

/// The ranks of a job in this thread.
class Ranks {
 public:
  explicit Ranks(Rank size) {
    auto transports = make_inproc(size, {});
    std::vector<std::vector<std::byte>> addresses;
    for (const auto& transport : transports) addresses.push_back(transport->address());
    const std::size_t before = memory_in_use();
    for (Rank rank = 0; rank < size; ++rank) {
      executors_.push_back(std::make_unique<runtime::Executor>(std::move(transports[static_cast<std::size_t>(rank)]),
                                                               rank, size, runtime::ExecutorOptions{}));
    }
    print("executor_bytes", size, "", static_cast<double>(memory_in_use() - before) / size);
    for (auto& executor : executors_) must(executor->connect(addresses));
    add_communicators();
  }
  ~Ranks() {
    communicators_.clear();
    for (auto& executor : executors_) must(executor->close(std::chrono::milliseconds(0)));
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  Rank size() const { return static_cast<Rank>(executors_.size()); }

  /// Microseconds of one rank and call, with so many calls in flight on all ranks.
  double time(const Call& call, int in_flight) {
    const Algorithm& algorithm = *must(select_algorithm(call, size()));
    std::vector<runtime::Run*> runs;
    const auto start = Clock::now();
    for (int i = 0; i < in_flight; ++i) {
      for (auto& communicator : communicators_) runs.push_back(must(communicator->post(call, algorithm)));
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      runtime::Communicator& communicator = *communicators_[i % communicators_.size()];
      while (!runs[i]->finished) sweep();
      communicator.release(*runs[i]);
    }
    return microseconds_since(start) / in_flight / size();
  }

 private:
  void add_communicators() {
    const std::size_t before = memory_in_use();
    for (auto& executor : executors_) communicators_.push_back(std::make_unique<runtime::Communicator>(*executor, 1));
    print("communicator_bytes", size(), "", static_cast<double>(memory_in_use() - before) / size());
  }
  void sweep() {
    for (auto& executor : executors_) executor->progress();
  }

  std::vector<std::unique_ptr<runtime::Executor>> executors_;
  std::vector<std::unique_ptr<runtime::Communicator>> communicators_;
};

/// Ranks on hosts of eight, of four where there are no more.
Hosts hosts_of_eight(Rank size) {
  std::vector<Rank> names;
  for (Rank rank = 0; rank < size; ++rank) names.push_back(rank / std::min(8, size / 2));
  return Hosts(names);
}

/// The graph of the lowest position: one that is symmetric serves all.
void time_build(const Algorithm& algorithm, std::string_view name, const GraphShape& shape) {
  double best = 1e300;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = Clock::now();
    GraphBuilder builder(shape, algorithm.symmetric);
    algorithm.build(builder);
    must(builder.status());
    const Graph graph = std::move(builder).build();
    best = std::min(best, microseconds_since(start));
  }
  print("graph_us", shape.size, name, best);
}

/// Dense ones, and with one round left out.
void time_builds(Rank size) {
  const Hosts hosts = hosts_of_eight(size);
  Call call{.collective = Collective::Allreduce};
  const auto time = [&](const Algorithm& algorithm, std::string_view name, const Structure& structure) {
    call.options.algorithm = name;
    if (algorithm.collective != call.collective || !select_algorithm(call, hosts)) return;
    time_build(algorithm, name,
               {.collective = call.collective,
                .size = size,
                .structure = structure,
                .hosts = algorithm.by_hosts ? hosts : Hosts()});
  };
  for (const Algorithm* algorithm : all_algorithms()) time(*algorithm, algorithm->name, {});
  call.options.method = skip({.steps = 1});
  const Structure fewer{.parameters = LeftOut{.rounds = 1}};
  for (const MethodAlgorithm& one : skip_method.algorithms) time(*one.algorithm, one.name, fewer);
}

void time_calls(Ranks& ranks) {
  const float input[2] = {1, 2};
  for (const char* algorithm : {"recursive_doubling", "ring"}) {
    if (ranks.size() > 64 && std::string_view(algorithm) == "ring") continue;
    for (int in_flight : {1, 10, 100, 1000}) {
      if (static_cast<long>(ranks.size()) * in_flight > 128'000) continue;  // memory
      std::vector<float> output(2);
      Call call{.collective = Collective::Allreduce, .input = input, .output = output.data(), .count = 2};
      call.options.algorithm = algorithm;
      double best = ranks.time(call, in_flight);  // and once to warm up
      for (int i = 0; i < repetitions; ++i) best = std::min(best, ranks.time(call, in_flight));
      print("call_us", ranks.size(), fmt::format("{} {}", algorithm, in_flight), best);
    }
  }
}

int work() {
  fmt::print("figure,ranks,detail,value\n");
  for (Rank size : {8, 64, 512, 1024}) {
    time_builds(size);
    Ranks ranks(size);
    time_calls(ranks);
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace lacuna

int main() { return lacuna::work(); }
