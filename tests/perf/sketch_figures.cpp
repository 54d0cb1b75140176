// Measures what docs/sketch.md says of sketches: the errors of count sketches, how many seeds peel completely, and
// what it costs to encode and to decode. It prints tables in Markdown. It runs on one core and takes some minutes.
// Usage: sketch_figures [SEEDS]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "kernels/backend.hpp"

namespace {

using namespace lacuna;
using kernels::SketchShape;
using Bytes = std::vector<std::byte>;

const kernels::Backend& on() { return kernels::best_backend(); }

template <class T>
std::byte* bytes_of(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

/// Sets of places.
enum class Set { Drawn, Progression, Contiguous };

std::vector<double> values_of(Set set, std::size_t entries, std::size_t length) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> values(length);
  for (std::size_t left = entries, i = 17; left > 0; --left) {
    values[i] = normal(random);
    if (set == Set::Drawn) {
      while (values[i] != 0) i = random() % length;
    } else {
      i += set == Set::Progression ? length / entries : 1;
    }
  }
  return values;
}

Bytes map_of(std::vector<double>& values) {
  Bytes map((values.size() + 7) / 8);
  on().find_blocks({Dtype::F64, bytes_of(values), values.size()}, {values.size(), 1}, nullptr, map.data());
  return map;
}

struct Fidelity {
  double error, exact;
};

/// The mean fidelity of ten seeds.
Fidelity fidelity_of(std::vector<double>& values, std::size_t rows, std::size_t cells) {
  const Bytes map = map_of(values);
  std::vector<double> table(cells / rows * rows), out(values.size());
  Fidelity mean{0, 0};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const SketchShape shape{.seed = seed, .rows = rows, .buckets = cells / rows};
    on().sketch(shape, {Dtype::F64, bytes_of(values), values.size()}, map.data(),
                {Dtype::F64, bytes_of(table), table.size()});
    on().decode_sketch(shape, {.map = map.data(), .table = bytes_of(table)}, {Dtype::F64, bytes_of(out), out.size()});
    double off = 0, all = 0, exact = 0, entries = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      off += (out[i] - values[i]) * (out[i] - values[i]);
      all += values[i] * values[i];
      entries += values[i] != 0;
      exact += values[i] != 0 && out[i] == values[i];
    }
    mean.error += std::sqrt(off / all) / 10;
    mean.exact += exact / entries / 10;
  }
  return mean;
}

void show_errors() {
  constexpr std::size_t entries = 20'000, length = 100'000;
  fmt::print(
      "\n| U/c | root of U/c | drawn | progression | contiguous | e^(-U/c) | drawn | progression | contiguous |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (double load : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    const auto cells = static_cast<std::size_t>(static_cast<double>(entries) / load);
    std::vector<Fidelity> all;
    for (Set set : {Set::Drawn, Set::Progression, Set::Contiguous}) {
      std::vector<double> values = values_of(set, entries, length);
      all.push_back(fidelity_of(values, 1, cells));
    }
    fmt::print("| {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} |\n", load,
               std::sqrt(load), all[0].error, all[1].error, all[2].error, std::exp(-load), all[0].exact, all[1].exact,
               all[2].exact);
  }
  fmt::print("\n| cells for each entry | 1 row | 3 rows, median | 5 rows, median |\n| --- | --- | --- | --- |\n");
  std::vector<double> values = values_of(Set::Drawn, entries, length);
  for (double cells : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    const auto number = static_cast<std::size_t>(cells * entries);
    fmt::print("| {} | {:.3f} | {:.3f} | {:.3f} |\n", cells, fidelity_of(values, 1, number).error,
               fidelity_of(values, 3, number).error, fidelity_of(values, 5, number).error);
  }
}

void show_peeling(std::uint64_t seeds) {
  constexpr std::size_t keys = 100'000;
  std::vector<std::int32_t> values(keys), out(keys);
  std::mt19937 random(2);
  for (std::int32_t& value : values) value = static_cast<std::int32_t>(random());
  const Bytes map((keys + 7) / 8, std::byte{0xff});
  Bytes left(map.size());
  fmt::print(
      "\n| buckets for each of {} keys | seeds | complete | rounds | most rounds | left if incomplete |\n"
      "| --- | --- | --- | --- | --- | --- |\n",
      keys);
  for (double cells : {1.15, 1.2, 1.25, 1.5, 2.0}) {
    const auto buckets = static_cast<std::size_t>(std::ceil(keys * cells / 3));
    std::vector<std::int64_t> table(3 * buckets);
    std::uint64_t complete = 0, rounds = 0, most = 0, stuck = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const SketchShape shape{.seed = seed, .rows = 3, .buckets = buckets};
      std::vector<std::uint32_t> room(kernels::words_of_peeling(shape));
      kernels::Peeled peeled;
      const kernels::Target target{Dtype::I64, bytes_of(table), table.size()};
      on().sketch(shape, {Dtype::I32, bytes_of(values), keys}, map.data(), target);
      on().peel_sketch(shape, {.map = map.data(), .left = left.data(), .room = room.data()}, target,
                       {Dtype::I32, bytes_of(out), keys}, &peeled);
      stuck += keys - peeled.blocks;
      if (peeled.blocks != keys) continue;
      if (out != values) fmt::print("seed {}: wrong values\n", seed);
      ++complete;
      rounds += peeled.rounds;
      most = std::max(most, peeled.rounds);
    }
    const double missed = static_cast<double>(seeds - complete);
    fmt::print("| {} | {} | {:.1f} % | {:.1f} | {} | {:.1f} % |\n", cells, seeds,
               100 * static_cast<double>(complete) / static_cast<double>(seeds),
               complete > 0 ? static_cast<double>(rounds) / static_cast<double>(complete) : 0, most,
               missed > 0 ? 100 * static_cast<double>(stuck) / missed / keys : 0);
  }
}

/// The shortest of several times, in seconds.
double seconds_of(const std::function<void()>& run) {
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least;
}

/// One rank's data of f32, and the union of all ranks' blocks.
struct Data {
  Data(std::size_t elements, std::size_t block, double density, int others)
      : grid{elements, block}, values(elements), out(elements), map((grid.count() + 7) / 8), all(map.size()) {
    std::mt19937 random(3);
    std::bernoulli_distribution here(density), there(1 - std::pow(1 - density, others));
    for (std::size_t b = 0; b < grid.count(); ++b) {
      const bool own = here(random);
      for (std::size_t i = 0; i < grid.size(b) && own; ++i) values[grid.begin(b) + i] = 1.5f;
      if (own || there(random)) all[b / 8] |= std::byte{1} << b % 8;
    }
    ranks.resize(kernels::words_of_map(grid.count()) + 1);
  }
  kernels::Source source() { return {Dtype::F32, bytes_of(values), values.size()}; }
  kernels::Target target() { return {Dtype::F32, bytes_of(out), out.size()}; }
  kernels::BlockSet set() { return {all.data(), ranks.data()}; }

  kernels::BlockGrid grid;
  std::vector<float> values, out;
  Bytes map, all;
  std::vector<std::uint32_t> ranks;
};

/// What a rank computes and sends.
struct Cost {
  const char* name;
  double encode, decode, bytes;
};

std::vector<Cost> costs_of(Data& data) {
  const double map = static_cast<double>(data.map.size());
  on().rank_bits(data.all.data(), data.grid.count(), data.ranks.data());
  const std::size_t blocks = data.ranks.back(), elements = blocks * data.grid.length;
  std::vector<float> packed(elements + data.grid.length), table(elements / 4 + data.grid.length);
  const auto find = [&] { on().find_blocks(data.source(), data.grid, nullptr, data.map.data()); };
  std::vector<Cost> all;
  all.push_back({"compaction", seconds_of([&] {
                   find();
                   on().rank_bits(data.all.data(), data.grid.count(), data.ranks.data());
                   on().take_blocks(data.source(), data.grid, data.set(), bytes_of(packed));
                 }),
                 seconds_of([&] { on().put_blocks(bytes_of(packed), data.grid, data.set(), true, data.target()); }),
                 map + 4.0 * static_cast<double>(elements)});
  const SketchShape shape{
      .seed = 1, .rows = 1, .buckets = std::max<std::size_t>(blocks / 4, 1), .block = data.grid.length};
  all.push_back({"count_sketch", seconds_of([&] {
                   find();
                   on().sketch(shape, data.source(), data.map.data(), {Dtype::F32, bytes_of(table), shape.cells()});
                 }),
                 seconds_of([&] {
                   on().decode_sketch(shape, {.map = data.all.data(), .table = bytes_of(table)}, data.target());
                 }),
                 map + 4.0 * static_cast<double>(shape.cells())});
  const SketchShape peels{.seed = 1, .rows = 3, .buckets = blocks * 5 / 12 + 1, .block = data.grid.length};
  std::vector<double> cells(peels.cells());
  std::vector<std::uint32_t> room(kernels::words_of_peeling(peels));
  Bytes left(data.map.size());
  kernels::Peeled peeled;
  const kernels::Target target{Dtype::F64, bytes_of(cells), cells.size()};
  all.push_back({"peel", seconds_of([&] {
                   find();
                   on().sketch(peels, data.source(), data.map.data(), target);
                 }),
                 seconds_of([&] {
                   on().peel_sketch(peels, {.map = data.all.data(), .left = left.data(), .room = room.data()}, target,
                                    data.target(), &peeled);
                 }),
                 map + 8.0 * static_cast<double>(peels.cells())});
  return all;
}

/// The time of an allreduce of 8 ranks, of which each computes on one core: what it computes, then its bytes over the
/// link.
void show_costs() {
  constexpr int ranks = 8;
  constexpr std::size_t elements = std::size_t{1} << 24;
  fmt::print(
      "\n| block | density | union | algorithm | encode | decode | ns/element | bytes | 1 Gbit/s | 10 Gbit/s | "
      "100 Gbit/s |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  const double dense = 4.0 * elements, turns = 2.0 * (ranks - 1) / ranks;
  for (std::size_t block : {1u, 64u}) {
    for (double density : {0.001, 0.01, 0.05}) {
      Data data(elements, block, density, ranks - 1);
      for (const Cost& cost : costs_of(data)) {
        const double computes = cost.encode + cost.decode;
        fmt::print("| {} | {} % | {:.1f} % | {} | {:.1f} ms | {:.1f} ms | {:.2f} | {:.1f} % |", block, 100 * density,
                   100.0 * static_cast<double>(data.ranks.back()) / static_cast<double>(data.grid.count()), cost.name,
                   1e3 * cost.encode, 1e3 * cost.decode, 1e9 * computes / elements, 100 * cost.bytes / dense);
        for (double gigabits : {1.0, 10.0, 100.0}) {
          const double rate = gigabits * 1e9 / 8, time = computes + turns * cost.bytes / rate;
          fmt::print(" {:.1f} x |", turns * dense / rate / time);
        }
        fmt::print("\n");
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  fmt::print("kernels: {}\n", on().name());
  show_errors();
  show_peeling(seeds);
  show_costs();
  return 0;
}
