#pragma once

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {

/// Do ranks of a host run on the same processor at this moment, although the host has one for each of them? All ranks
/// call it, and all get the same answer.
Result<bool> ranks_share_processors(Communicator& communicator);

}  // namespace lacuna::cli
