#pragma once

#include <string_view>

#include "runtime/graph/builder.hpp"
#include "runtime/graph/frame.hpp"
#include "runtime/values/call.hpp"
#include "runtime/values/status.hpp"

/// Error feedback: what a rank leaves out of one call it adds to the next (Seide, Fu, Droppo, Li, Yu: 1-bit stochastic
/// gradient descent, 2014). The sum of all inputs is the sum of all results and of what the residuals hold. A program
/// that does not know the residual has a frame around it. Kernels that select keep the residual themselves, so that
/// they can add the input right before they search it (sparse_accumulator.hpp).
namespace lacuna {

/// The array of a state that holds the residual: what earlier calls have not contributed yet of a rank's input, laid
/// out like the input. All methods with feedback use it.
inline constexpr std::string_view residual_array = "residual";

/// Returns ok, or why the residual of the call's state does not fit the call.
Status check_residual(const Call& call, Rank size);

/// Feedback for a program that does not know the residual. The input is added to the residual, which is the program's
/// input from then on. At the end, all that the program has read of the residual counts as contributed and is cleared,
/// without what it has left out (leave_out). What stays is dropped if it is not finite (not_finite.hpp). A kernel that
/// writes to its input keeps the residual itself, and keeps it finite.
extern const Frame feedback_frame;

/// Says that this region holds a sum of terms, of this and of other positions, that nobody will add to the result. With
/// `feedback_frame` the sum is kept for the next call; else nothing happens. Input that the program does not read is
/// kept anyway. If the sum is not finite, it is dropped, and the result tells it: the first element of `told`, which
/// this position is about to contribute, becomes a NaN. A sum that is always finite needs no such region.
void leave_out(GraphBuilder& g, Region partial, Region told = {});

}  // namespace lacuna
