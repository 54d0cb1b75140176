#pragma once

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

/// So many calls and messages on the world and two halves of it, each rank in an interleaving of its own, many in
/// flight; each is drawn from its number, of which `first` is the least. Status: the first that failed or gave a wrong
/// result.
Status run_storm(Communicator& world, std::size_t first, std::size_t operations);

}  // namespace lacuna::test
