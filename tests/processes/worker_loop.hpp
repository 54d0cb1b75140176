#pragma once

#include <string>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

/// Starts this call and sleeps on the descriptor until the call has ended. Returns its outcome.
Status end_in_a_loop(Communicator& communicator, Call call);

/// Another thread sends messages to this rank, some of which wait for their receiver. Meanwhile this thread sleeps on
/// the descriptor.
Status talk_to_oneself_in_a_loop(Communicator& communicator);

}  // namespace lacuna::test
