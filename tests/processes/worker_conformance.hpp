#pragma once

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

/// Runs a thinned list of cases of every algorithm, in the same order on all ranks: first each alone, then many in
/// flight. Prints "ALGORITHM: n cases" for each algorithm. Returns the status of the first case that failed or gave a
/// wrong result. `corrupt` flips one bit of one result, which must be noticed.
Status run_conformance(Communicator& communicator, bool corrupt);

}  // namespace lacuna::test
