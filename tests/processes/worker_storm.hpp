#pragma once

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

/// Makes that many calls and messages on the world and two halves of it, each rank in an interleaving of its own, many
/// in flight. Each is drawn from its number, the least of which is `first`. Returns the status of the first operation
/// that failed or gave a wrong result.
Status run_storm(Communicator& world, std::size_t first, std::size_t operations);

}  // namespace lacuna::test
