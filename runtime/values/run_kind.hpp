#pragma once

#include <cstdint>

namespace lacuna::runtime {

/// What a run carries out: a call of a collective, or one side of a message between two ranks.
enum class RunKind : std::uint8_t { Collective, Send, Receive };

}  // namespace lacuna::runtime
