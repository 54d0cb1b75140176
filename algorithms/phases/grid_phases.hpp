#pragma once

#include "algorithms/phases/ring_phases.hpp"

namespace lacuna {

/// Allreduce on a grid of r rows and c columns: a reduce-scatter along the own row leaves each position a piece, whose
/// sum an allreduce along its column completes; then the pieces are gathered along the row. All lines are rings.
/// 2(c-1) + 2(r-1) steps; a position sends 2(c-1)/c of the data along its row and 2(r-1)/(rc) along its column. Without
/// the first `row_skip` and `column_skip` steps of the reductions, a piece has the terms of (c-row_skip)
/// (r-column_skip) positions.
/// Source: Mikami et al., Massively distributed SGD: ImageNet/ResNet-50 training in a flash (2018), 2D-torus
/// all-reduce.
inline void grid_allreduce(GraphBuilder& g, const Topology& grid, int row_skip = 0, int column_skip = 0) {
  const Line row = grid.line(g.position(), 1), column = grid.line(g.position(), 0);
  const Rank c = row.size(), r = column.size(), first = row.own * r;
  const auto in_row = [&](Rank i) { return g.output(i, i + 1, c); };
  const auto in_column = [&](Rank i) { return g.output(first + i, first + i + 1, c * r); };
  const auto so_far = [&](Rank i) { return c > 1 ? in_column(i) : g.input(i, i + 1, r); };

  if (c > 1) {
    const auto partial = [&](Rank, Rank i) { return in_row(i); };
    ring_reduce_scatter(
        g, row, [&](Rank i) { return g.input(i, i + 1, c); }, partial, row_skip);
  }
  if (r > 1 || c == 1) {
    const auto partial = [&](Rank, Rank i) { return in_column(i); };
    ring_reduce_scatter(g, column, so_far, partial, column_skip);
  }
  g.finish(in_column(column.own), (c - row_skip) * (r - column_skip));
  ring_allgather(g, column, in_column);
  ring_allgather(g, row, in_row);
}

}  // namespace lacuna
