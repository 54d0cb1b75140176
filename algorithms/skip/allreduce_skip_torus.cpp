#include "algorithms/phases/grid_phases.hpp"
#include "algorithms/skip/skip_order.hpp"

namespace lacuna {
namespace {

struct Sides {
  int rows, columns;
};

Sides sides(Rank size) {
  const Topology grid = Topology::torus(size);
  return {grid.line(0, 0).size(), grid.line(0, 1).size()};
}

/// The steps along rows come first.
struct Shares {
  int in_rows, in_columns;
};

Shares shares(int steps, int columns) {
  const int in_rows = std::min(steps, columns - 1);
  return {in_rows, steps - in_rows};
}

constexpr Skipping skipping = {
    .most =
        [](const Hosts& hosts) {
          const auto [rows, columns] = sides(hosts.size());
          return rows + columns - 2;
        },
    .left_out =
        [](const Hosts& hosts, int steps) {
          const auto [rows, columns] = sides(hosts.size());
          const auto [in_rows, in_columns] = shares(steps, columns);
          return 1 - static_cast<double>((columns - in_rows) * (rows - in_columns)) / hosts.size();
        },
};

}  // namespace

// The 2-D torus of r rows and c columns without S steps of its reductions: the first ones along the rows, which carry
// 1/c of the data each, up to c-1; then those along the columns, of 1/P each. With a and b steps left out along rows
// and columns (c-a)(r-b) ranks contribute to a piece. 2(r+c-2)-S steps; each rank sends 2(P-1)/P - a/c - b/P of the
// data.
extern const Algorithm allreduce_skip_torus;
const Algorithm allreduce_skip_torus = {
    .collective = Collective::Allreduce,
    .name = "skip_torus",
    .summary = "S steps left out, along rows first: 2(r+c-2)-S steps for P = r c",
    .symmetric = false,
    .supports = nullptr,
    .build =
        [](GraphBuilder& g) {
          const Topology grid = Topology::torus(g.size());
          const auto [in_rows, in_columns] = shares(g.skip_steps(), sides(g.size()).columns);
          grid_allreduce(g, grid, in_rows, in_columns);
        },
    .bind = skip_order,
    .skipping = &skipping,
};

}  // namespace lacuna
