// Selecting one element in a hundred from 64 Mi of them, on one thread; in front the limit, a plain sum that reads the
// array once. --benchmark_filter=f32 for one element type, --benchmark_filter=of_ for selections from arrays of 10^4 to
// 10^7 elements, exactly and by a sample of 65536. select_peer.py puts PyTorch's topk beside it.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/elements.hpp"
#include "kernels/reduce.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::size_t count = std::size_t{64} << 20;
constexpr std::uint64_t k = count / 100;

/// Normally distributed elements, and room for what is selected.
struct Data {
  Dtype dtype;
  std::vector<std::byte> elements;
  std::vector<std::uint32_t> places = std::vector<std::uint32_t>(2 * k);
  std::vector<std::byte> values = std::vector<std::byte>(2 * k * sizeof(double));
  std::vector<std::uint64_t> workspace = std::vector<std::uint64_t>(Backend::workspace_bytes() / 8);

  explicit Data(Dtype of) : dtype(of), elements(count * size_of(of)) {
    constexpr std::size_t drawn = 1 << 20;
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    std::vector<double> numbers(drawn);
    for (double& number : numbers) number = normal(random);
    with_floating_element(dtype, [&]<class T>(Element<T>) {
      for (std::size_t i = 0; i < count; ++i) {
        const double jitter = 1 + 0x1p-24 * static_cast<double>(i / drawn);
        store<T>(elements.data(), i, narrow<T>(static_cast<WideOf<T>>(numbers[i * 7 % drawn] * jitter)));
      }
    });
  }
  Source source() const { return {dtype, elements.data(), count}; }
  EntriesList list() { return {places.data(), values.data(), places.size()}; }
  std::byte* scratch() { return reinterpret_cast<std::byte*>(workspace.data()); }
};

/// The last one that was asked for: the benchmarks go by dtypes.
Data& data_of(Dtype dtype) {
  static std::unique_ptr<Data> data;
  if (!data || data->dtype != dtype) {
    data.reset();
    data = std::make_unique<Data>(dtype);
  }
  return *data;
}

void report(benchmark::State& state, const Data& data) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * data.elements.size()));
}

/// The sum of an array's words, which is as fast as it can be read.
std::uint64_t sum_of_words(const std::byte* array, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes / 8; ++i) sum += load<std::uint64_t>(array, i);
  return sum;
}

void read_limit(benchmark::State& state, Dtype dtype) {
  Data& data = data_of(dtype);
  for (auto _ : state) benchmark::DoNotOptimize(sum_of_words(data.elements.data(), data.elements.size()));
  report(state, data);
}

void count_taken(benchmark::State& state, Dtype dtype) {
  Data& data = data_of(dtype);
  Cut cut;
  best_backend().largest(data.source(), k, data.scratch(), &cut);
  std::uint64_t taken = 0;
  for (auto _ : state) best_backend().count(data.source(), &cut, &taken);
  report(state, data);
  state.counters["taken"] = static_cast<double>(taken);
}

void compact(benchmark::State& state, Dtype dtype) {
  Data& data = data_of(dtype);
  Cut cut;
  best_backend().largest(data.source(), k, data.scratch(), &cut);
  std::uint64_t taken = 0;
  for (auto _ : state) {
    taken = 0;
    best_backend().compact(data.source(), &cut, data.list(), &taken);
  }
  report(state, data);
  state.counters["taken"] = static_cast<double>(taken);
}

void largest(benchmark::State& state, Dtype dtype) {
  Data& data = data_of(dtype);
  Cut cut;
  for (auto _ : state) best_backend().largest(data.source(), k, data.scratch(), &cut);
  report(state, data);
}

void largest_and_compact(benchmark::State& state, Dtype dtype) {
  Data& data = data_of(dtype);
  Cut cut;
  std::uint64_t taken = 0;
  for (auto _ : state) {
    taken = 0;
    best_backend().largest(data.source(), k, data.scratch(), &cut);
    best_backend().compact(data.source(), &cut, data.list(), &taken);
  }
  report(state, data);
  state.counters["taken"] = static_cast<double>(taken);
}

void estimate(benchmark::State& state, Dtype dtype) {
  Data& data = data_of(dtype);
  constexpr std::size_t samples = 65536;
  std::vector<std::byte> room(samples * size_of(dtype));
  Cut cut;
  for (auto _ : state) best_backend().estimate(data.source(), k, samples, {1, 2, 3}, room.data(), data.scratch(), &cut);
  std::uint64_t taken = 0;
  best_backend().count(data.source(), &cut, &taken);
  state.counters["taken"] = static_cast<double>(taken);
}

void sum_of_squares(benchmark::State& state, Dtype dtype) {
  Data& data = data_of(dtype);
  double sum = 0;
  for (auto _ : state) best_backend().sum_of_powers(data.source(), 2, 1, &sum);
  report(state, data);
}

void feed_back(benchmark::State& state, Dtype dtype) {
  Data& data = data_of(dtype);
  std::vector<std::byte> residual(data.elements.size());
  for (auto _ : state) best_backend().feed_back({}, {dtype, residual.data(), count}, nullptr, data.elements.data());
  report(state, data);
}

/// Selects one in a hundred of the first `length` elements of f32 by the cut that `find` makes, as topk does.
void select_of(benchmark::State& state, std::size_t length, auto find) {
  Data& data = data_of(Dtype::F32);
  const Source from{Dtype::F32, data.elements.data(), length};
  Cut cut;
  std::uint64_t taken = 0;
  for (auto _ : state) {
    taken = 0;
    find(data, from, &cut);
    best_backend().compact(from, &cut, data.list(), &taken);
  }
  state.counters["taken"] = static_cast<double>(taken);
}

void register_lengths() {
  for (std::size_t length : {10'000, 30'000, 100'000, 300'000, 1'000'000, 3'000'000, 10'000'000}) {
    const std::string name = "f32/of_" + std::to_string(length);
    benchmark::RegisterBenchmark((name + "/exact").c_str(), [length](benchmark::State& state) {
      select_of(state, length, [](Data& data, const Source& from, Cut* cut) {
        best_backend().largest(from, from.count / 100, data.scratch(), cut);
      });
    })->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark((name + "/sampled").c_str(), [length](benchmark::State& state) {
      constexpr std::size_t samples = 65536;
      std::vector<std::byte> room(samples * sizeof(float));
      select_of(state, length, [&room](Data& data, const Source& from, Cut* cut) {
        best_backend().estimate(from, from.count / 100, samples, {1, 2, 3}, room.data(), data.scratch(), cut);
      });
    })->Unit(benchmark::kMillisecond);
  }
}

void register_all() {
  constexpr std::array<std::pair<const char*, void (*)(benchmark::State&, Dtype)>, 8> kernels = {{
      {"read_limit", read_limit},
      {"count", count_taken},
      {"compact", compact},
      {"largest", largest},
      {"largest_and_compact", largest_and_compact},
      {"estimate", estimate},
      {"sum_of_squares", sum_of_squares},
      {"feed_back", feed_back},
  }};
  for (Dtype dtype : {Dtype::F32, Dtype::F64, Dtype::BF16, Dtype::F16}) {
    for (const auto& [name, run] : kernels) {
      const std::string full = std::string(to_string(dtype)) + "/" + name;
      benchmark::RegisterBenchmark(full.c_str(), run, dtype)->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace
}  // namespace lacuna::kernels

int main(int argc, char** argv) {
  lacuna::kernels::register_all();
  lacuna::kernels::register_lengths();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
