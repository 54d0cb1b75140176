#pragma once

#include <string>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna::cli {

/// Collective: gives every rank root's text.
Status share_text(Communicator& communicator, std::string& text, Rank root = 0);

/// Collective: Ok if `mine` is Ok on all ranks; otherwise the status of the lowest rank that failed, with that rank's
/// number, on all of them. For what can fail on one rank alone, as reading a file.
Status agree(Communicator& communicator, const Status& mine);

}  // namespace lacuna::cli
