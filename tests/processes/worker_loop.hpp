#pragma once

#include <string>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::test {

/// Starts this call and sleeps on the descriptor until it has ended; its outcome.
Status end_in_a_loop(Communicator& communicator, Call call);

/// Another thread sends messages to this rank, some of which waits for their receiver, while this one sleeps on the
/// descriptor.
Status talk_to_oneself_in_a_loop(Communicator& communicator);

}  // namespace lacuna::test
