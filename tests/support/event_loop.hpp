#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

/// A program's own loop, as the headers ask for it: it sleeps on the descriptor, and makes progress and takes
/// completions only once that has become readable. Until `take` returns true for one; false if it comes to sleep for
/// longer than `patience`, or has not ended after ten times as long.
bool serve(Communicator& communicator, std::chrono::milliseconds patience,
           const std::function<bool(const Completion&)>& take);

/// Random collectives and messages, to itself too, that two threads post while this one is in serve(): `posts` of each
/// thread. Called by all ranks; at least 2. Ok, or what went wrong.
Status post_into_a_loop(Communicator& world, std::size_t posts);

}  // namespace lacuna::test
