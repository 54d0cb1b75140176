#pragma once

#include "algorithms/phases/predictions.hpp"
#include "algorithms/phases/sparse.hpp"
#include "runtime/method/method.hpp"

namespace lacuna::sparse {

/// Returns the bytes of one message of a range of so many places, in the format that the part asks for. `entries` may
/// lie between two whole numbers: the result then lies between their bytes.
double expected_message_bytes(const ExpectedPart& part, double entries, double places);
/// Returns the bytes that a rank sends to cut ranges by load, if entries are spread evenly within the bins.
double histogram_bytes(const ExpectedPart& part);

}  // namespace lacuna::sparse
