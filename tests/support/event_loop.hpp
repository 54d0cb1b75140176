#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

/// The loop of a program, as the headers ask for it: it sleeps on the descriptor, and makes progress and takes
/// completions only once the descriptor has become readable. It returns true once `take` returns true for a completion,
/// and false if it sleeps for longer than `patience`, or has not ended after ten times as long.
bool serve(Communicator& communicator, std::chrono::milliseconds patience,
           const std::function<bool(const Completion&)>& take);

/// Two threads post random collectives and messages, some of them to the rank itself, while this thread is in serve().
/// Each thread makes `posts`. All ranks call this; there must be at least 2. Returns ok, or what went wrong.
Status post_into_a_loop(Communicator& world, std::size_t posts);

}  // namespace lacuna::test
