#pragma once

#include "algorithms/phases/predictions.hpp"
#include "algorithms/phases/sparse.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::sparse {

/// Of one message of a range of so many places, in the format that the part asks for. Lengths between two numbers of
/// entries lie between theirs.
double expected_message_bytes(const ExpectedPart& part, double entries, double places);
/// That a rank sends to cut ranges by load, where entries are spread evenly within the bins.
double histogram_bytes(const ExpectedPart& part);

}  // namespace lacuna::sparse
