#pragma once

#include <string>

#include "bindings/cpp/lacuna.hpp"

namespace lacuna {

/// Gives every rank root's text. All ranks call it.
Status share_text(Communicator& communicator, std::string& text, Rank root = 0);

/// Returns Ok if `mine` is Ok on all ranks. Otherwise all ranks get the status of the lowest rank that failed, with
/// that rank's number. It is for what can fail on one rank alone, such as reading a file. All ranks call it.
Status agree(Communicator& communicator, const Status& mine);

}  // namespace lacuna
