// The heat equation on a square whose border is cold. The field is cut into slabs of rows, one for each rank, as views
// in the memory of Kokkos' default device. In each step neighbours exchange the rows at their common border, and every
// hundred steps all ranks sum up the heat. Nothing is copied to the host before the last number.
//
//     lacuna launch -n 4 -- heat 256 1000
//
// The field begins as sin(pi x) sin(pi y), so each step multiplies it by a number that is known. The program compares
// what is left with that.
#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <lacuna/lacuna.hpp>
#include <lacuna/lacuna_kokkos.hpp>
#include <stdexcept>
#include <string>

namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Field = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
using Heat = Kokkos::View<double, Space>;

constexpr double pi = 3.14159265358979323846;
constexpr double share = 0.2;  // of the difference to a neighbour that flows in a step; below 1/4 it is stable

void must(const lacuna::Status& status) {
  if (!status) throw std::runtime_error(status.to_string());
}

// The rows of this rank, with one more on each side that belongs to a neighbour. Both borders have a column of zeros.
struct Slab {
  int rows = 0;
  int first = 0;  // of all rows
  Field now, next;
};

Slab slab_of(int rank, int ranks, int width) {
  const auto begin = [&](int r) { return static_cast<int>(static_cast<long>(width) * r / ranks); };
  Slab slab;
  slab.first = begin(rank);
  slab.rows = begin(rank + 1) - slab.first;
  slab.now = Field("now", static_cast<std::size_t>(slab.rows) + 2, static_cast<std::size_t>(width) + 2);
  slab.next = Field("next", slab.now.extent(0), slab.now.extent(1));
  return slab;
}

Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>> inside(const Slab& slab, int width) {
  return {{1, 1}, {slab.rows + 1, width + 1}};
}

void warm(const Slab& slab, int width) {
  const Field field = slab.now;
  const int first = slab.first;
  Kokkos::parallel_for(
      "warm", inside(slab, width), KOKKOS_LAMBDA(int row, int column) {
        const double step = pi / (width + 1);
        field(row, column) = std::sin(step * (first + row)) * std::sin(step * column);
      });
}

void flow(const Slab& slab, int width) {
  const Field now = slab.now, next = slab.next;
  Kokkos::parallel_for(
      "flow", inside(slab, width), KOKKOS_LAMBDA(int r, int c) {
        const double around = now(r - 1, c) + now(r + 1, c) + now(r, c - 1) + now(r, c + 1);
        next(r, c) = now(r, c) + share * (around - 4 * now(r, c));
      });
}

// Fills the two rows that belong to neighbours.
void exchange_rows(lacuna::Communicator& world, const Slab& slab) {
  const auto row = [&](int r) { return Kokkos::subview(slab.now, r, Kokkos::ALL()); };
  const auto own_first = row(1), own_last = row(slab.rows), before = row(0), behind = row(slab.rows + 1);
  const auto grid = lacuna::ProcessGrid::make({{.length = world.size()}});
  if (!grid) throw std::runtime_error(grid.status().to_string());
  const auto neighbours = grid->neighbours(world.rank());
  const std::array halos = {lacuna::halo(own_first, before), lacuna::halo(own_last, behind)};
  must(world.call(
      lacuna::Exchange{.neighbours = neighbours, .halos = halos, .memory = lacuna::span_of(own_first).memory}));
}

// The heat of all ranks.
double total_heat(lacuna::Communicator& world, const Slab& slab, int width, const Heat& heat) {
  const Field field = slab.now;
  Kokkos::parallel_reduce(
      "heat", inside(slab, width), KOKKOS_LAMBDA(int r, int c, double& sum) { sum += field(r, c); }, heat);
  must(world.call(lacuna::allreduce(heat)));
  double total = 0;
  Kokkos::deep_copy(total, heat);
  return total;
}

int solve(int width, int steps) {
  auto world = lacuna::Communicator::world();
  if (!world) throw std::runtime_error(world.status().to_string());
  Slab slab = slab_of(world->rank(), world->size(), width);
  const Heat heat("heat");  // a Kokkos::View<double>
  warm(slab, width);
  const double before = total_heat(*world, slab, width, heat);
  for (int step = 1; step <= steps; ++step) {
    exchange_rows(*world, slab);
    flow(slab, width);
    std::swap(slab.now, slab.next);
    if (step % 100 != 0) continue;
    const double now = total_heat(*world, slab, width, heat);
    if (world->rank() == 0) std::printf("step %5d: heat %.6f\n", step, now);
  }
  const double after = total_heat(*world, slab, width, heat);
  const double factor = 1 + 4 * share * (std::cos(pi / (width + 1)) - 1);
  const double expected = before * std::pow(factor, steps);
  const double error = std::abs(after - expected) / expected;
  if (world->rank() == 0) {
    std::printf("%d ranks, views in %s: heat %.6f, expected %.6f, error %.1e\n", world->size(),
                Space::memory_space::name(), after, expected, error);
  }
  return error < 1e-10 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::initialize(argc, argv);
  int result = 1;
  try {
    result = solve(argc > 1 ? std::atoi(argv[1]) : 256, argc > 2 ? std::atoi(argv[2]) : 1000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heat: %s\n", error.what());
  }
  Kokkos::finalize();
  return result;
}
