#pragma once

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

/// Rank 0 makes a child. The child calls what it must not, frees one communicator and leaves another to its exit().
/// Then the ranks continue to compute. All ranks call this.
Status outlive_a_child(Communicator& communicator);

/// Makes a child that sleeps for some seconds and ends.
void leave_a_child();

}  // namespace lacuna::test
