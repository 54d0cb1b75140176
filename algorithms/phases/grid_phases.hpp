#pragma once

#include "algorithms/phases/direct_phases.hpp"
#include "algorithms/phases/ring_phases.hpp"

namespace lacuna {

/// How many rounds a grid's reductions along rows and columns leave out.
struct GridRounds {
  int in_rows = 0, in_columns = 0;
};

/// The rounds along the rows are left out first, because they carry more.
inline GridRounds rows_first(int rounds, Rank columns) {
  const int in_rows = std::min(rounds, columns - 1);
  return {in_rows, rounds - in_rows};
}

/// How the positions of a row exchange their pieces.
enum class RowExchange {
  Ring,   ///< around a ring, of which the first rounds may be left out
  Direct  ///< all at once, which suits positions of one host
};

/// Allreduce on a grid of r rows and c columns, whose columns are rings. A reduce-scatter along the own row leaves each
/// position a piece. An allreduce along its column completes the sum of this piece. Then the pieces are gathered along
/// the row.
/// Along the columns it takes 2(r-1) rounds. Along the rows it takes 2(c-1) if they are rings, and else 2. A position
/// sends 2(c-1)/c of the data along its row and 2(r-1)/(rc) along its column. Without the first rounds of the
/// reductions, as many as `left_out` says, a piece has the terms of (c-in_rows)(r-in_columns) positions. Source: Mikami
/// et al., Massively distributed SGD: ImageNet/ResNet-50 training in a flash (2018), 2D-torus all-reduce.
inline void grid_allreduce(GraphBuilder& g, const Topology& grid, GridRounds left_out, RowExchange rows) {
  const Line row = grid.line(g.position(), 1), column = grid.line(g.position(), 0);
  const Rank c = row.size(), r = column.size(), first = row.own * r;
  left_out = {rounds_left_out(g, left_out.in_rows, c - 1), rounds_left_out(g, left_out.in_columns, r - 1)};
  const auto in_row = [&](Rank i) { return g.output(i, i + 1, c); };
  const auto in_column = [&](Rank i) { return g.output(first + i, first + i + 1, c * r); };
  const auto so_far = [&](Rank i) { return c > 1 ? in_column(i) : g.input(i, i + 1, r); };

  const auto input = [&](Rank i) { return g.input(i, i + 1, c); };
  if (c > 1 && rows == RowExchange::Ring) {
    const auto partial = [&](Rank, Rank i) { return in_row(i); };
    ring_reduce_scatter(g, row, input, partial, {.skip = left_out.in_rows});
  } else if (c > 1) {
    direct_reduce_scatter(g, row, input, in_row);
  }
  if (r > 1 || c == 1) {
    const auto partial = [&](Rank, Rank i) { return in_column(i); };
    const Brings brings = c - left_out.in_rows > 1 ? Brings::Sum : Brings::Term;
    ring_reduce_scatter(g, column, so_far, partial, {left_out.in_columns, brings});
  }
  g.finish(in_column(column.own), (c - left_out.in_rows) * (r - left_out.in_columns));
  ring_allgather(g, column, in_column);
  if (rows == RowExchange::Ring) {
    ring_allgather(g, row, in_row);
  } else {
    direct_allgather(g, row, in_row);
  }
}

}  // namespace lacuna
