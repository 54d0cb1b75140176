#pragma once

#include "runtime/graph/builder.hpp"

namespace lacuna {

/// Error feedback: the pair of phases around a program by which what a rank leaves out of one call it adds to the next
/// (Seide, Fu, Droppo, Li, Yu: 1-bit stochastic gradient descent, 2014). What went in is what came out and what the
/// residuals hold.

/// The input is added to the state's residual, which is the program's input from now on. Piece by piece: a program
/// starts with what it needs first.
void add_to_residual(GraphBuilder& g);

/// What the program has read of the residual is contributed, and cleared, but where it has left something out.
void clear_contributed(GraphBuilder& g);

}  // namespace lacuna
