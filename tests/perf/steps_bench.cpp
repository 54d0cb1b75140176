// What the runtime itself costs: a step of a graph that moves nothing, a call on one rank, and a reduction by size and
// element type.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/cpp/lacuna.hpp"
#include "kernels/backend.hpp"
#include "runtime/communicator/communicator.hpp"
#include "transports/inproc.hpp"

namespace lacuna {
namespace {

constexpr std::uint32_t steps = 10'000;

Region piece(std::uint32_t index) { return {.buffer = Buffer::Output, .of = steps, .begin = index, .end = index + 1}; }

/// Every step follows the one before.
void build_chain(GraphBuilder& graph) {
  for (std::uint32_t i = 0; i < steps; ++i) graph.copy(piece(0), piece(0));
}

void build_independent(GraphBuilder& graph) {
  for (std::uint32_t i = 0; i < steps; ++i) graph.copy(piece(i), piece(i));
}

/// Two steps a row; each follows both of the row before.
void build_ladder(GraphBuilder& graph) {
  for (std::uint32_t i = 0; i < steps; ++i) {
    const StepId step = graph.copy(piece(i % 2), piece(i % 2));
    if (i >= 2) graph.after(step, i % 2 == 0 ? i - 1 : i - 3);
  }
}

constexpr Algorithm empty_graph(std::string_view name, void (*build)(GraphBuilder&)) {
  return {.collective = Collective::Allreduce,
          .name = name,
          .summary = "steps of no bytes",
          .symmetric = true,
          .build = build};
}

/// Posts and finishes runs of a graph whose steps have no bytes.
void time_steps(benchmark::State& state, const Algorithm& algorithm) {
  auto transports = make_inproc(1, {});
  runtime::Executor executor(std::move(transports.front()), 0, 1, {});
  runtime::Communicator communicator(executor, 1);
  if (!executor.connect({{}})) return state.SkipWithError("the executor does not connect");
  const Call call{.collective = Collective::Allreduce};
  const auto run_once = [&] {
    auto run = communicator.post(call, algorithm);
    if (!run || !communicator.wait(**run)) return state.SkipWithError("the run fails");
    communicator.release(**run);
  };
  run_once();  // makes the graph
  for (auto _ : state) run_once();
  state.counters["per_step"] =
      benchmark::Counter(steps, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void chain_of_steps(benchmark::State& state) {
  static constexpr Algorithm algorithm = empty_graph("chain", build_chain);
  time_steps(state, algorithm);
}

void independent_steps(benchmark::State& state) {
  static constexpr Algorithm algorithm = empty_graph("independent", build_independent);
  time_steps(state, algorithm);
}

void ladder_of_steps(benchmark::State& state) {
  static constexpr Algorithm algorithm = empty_graph("ladder", build_ladder);
  time_steps(state, algorithm);
}

void allreduce_8_bytes_on_one_rank(benchmark::State& state) {
  auto ranks = Communicator::local(1, {.progress = Progress::Caller});
  if (!ranks) return state.SkipWithError("no communicator");
  const float input[2] = {1, 2};
  float output[2] = {};
  const Call call{.collective = Collective::Allreduce, .input = input, .output = output, .count = 2};
  for (auto _ : state) {
    if (!ranks->front().call(call)) return state.SkipWithError("the call fails");
  }
}

/// test() that finds nothing, with so many unfinished calls; without any, a round of progress.
void test_that_finds_nothing(benchmark::State& state) {
  auto ranks = Communicator::local(2, {.progress = Progress::Caller});
  if (!ranks) return state.SkipWithError("no communicator");
  float data = 0;
  const Call call{.collective = Collective::Broadcast, .output = &data, .count = 1, .root = 1};
  std::vector<Request> requests;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    auto request = (*ranks)[0].start(call);
    if (!request) return state.SkipWithError("the call fails");
    requests.push_back(*std::move(request));
  }
  Request none;
  Request& tested = requests.empty() ? none : requests.front();
  for (auto _ : state) {
    benchmark::DoNotOptimize(requests.empty() ? (*ranks)[0].progress() : tested.test());
  }
  std::vector<Request> theirs;
  Call sent = call;
  sent.input = &data;
  for (std::size_t i = 0; i < requests.size(); ++i) theirs.push_back(*(*ranks)[1].start(sent));
}

void reduce(benchmark::State& state) {
  const auto dtype = static_cast<Dtype>(state.range(0));
  const auto bytes = static_cast<std::size_t>(state.range(1));
  const std::vector<std::byte> a(bytes, std::byte{1});
  std::vector<std::byte> out(bytes, std::byte{2});
  for (auto _ : state) {
    kernels::best_backend().reduce(Reduction::Sum, {}, {dtype, out.data(), bytes / size_of(dtype)}, a.data(),
                                   out.data());
    benchmark::ClobberMemory();
  }
  state.SetLabel(std::string(to_string(dtype)));
  state.SetBytesProcessed(state.iterations() * state.range(1) * 3);  // two reads and a write
}

void sizes_by_dtype(benchmark::internal::Benchmark* benchmark) {
  for (const Dtype dtype : real_dtypes) {
    for (const std::int64_t bytes : {1 << 10, 32 << 10, 1 << 20, 16 << 20, 64 << 20}) {
      benchmark->Args({static_cast<std::int64_t>(dtype), bytes});
    }
  }
}

BENCHMARK(chain_of_steps)->Unit(benchmark::kMicrosecond);
BENCHMARK(independent_steps)->Unit(benchmark::kMicrosecond);
BENCHMARK(ladder_of_steps)->Unit(benchmark::kMicrosecond);
BENCHMARK(allreduce_8_bytes_on_one_rank);
BENCHMARK(test_that_finds_nothing)->Arg(0)->Arg(1)->Arg(1000);
BENCHMARK(reduce)->Apply(sizes_by_dtype);

}  // namespace
}  // namespace lacuna

BENCHMARK_MAIN();
