#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bindings/workload/workload.hpp"

namespace lacuna::workloads {

struct HeatOptions {
  std::size_t rows = 512, columns = 512;  ///< points of the grid, without the border
  bool periodic = false;                  ///< the domain has no border; else it is held at 0
  std::size_t waves = 4;                  ///< of which the first temperature is the sum
  std::size_t highest_wave = 3;           ///< half waves along a side, or whole ones if periodic: 1 .. highest_wave
  double time_step = 0.9;                 ///< as a part of the largest one that is stable
  std::uint64_t residual_every = 1;       ///< steps from one residual to the next
  std::uint64_t evaluate_every = 100;     ///< steps from one evaluation to the next
  Rank process_rows = 0;                  ///< rows of the grid of ranks; 0: its sides differ as little as possible
};

/// Returns ok, or why the grid of points can't be cut for so many ranks.
Status check(const HeatOptions& options, Rank ranks);

/// Makes a solver of the heat equation u_t = u_xx + u_yy on the unit square, by explicit Euler steps and the five-point
/// stencil in f64. Each rank has a box of the points. In each step a neighbour exchange brings the border points of the
/// boxes around it, while the inner points are computed. An allreduce of the maximum gives the residual, the largest
/// change of a point in the step. The seed draws the amplitudes of the first temperature, whose development is known
/// exactly (Wave). No number depends on how the points are cut, so all numbers of ranks give the same bits. There are
/// no gradients, and so nothing that a method could leave out.
std::unique_ptr<Workload> make_heat(const HeatOptions& options);

}  // namespace lacuna::workloads
