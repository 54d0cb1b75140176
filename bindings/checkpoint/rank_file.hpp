#pragma once

#include "bindings/checkpoint/checkpoint.hpp"

namespace lacuna::checkpoint {

/// Checks that the file opens and says that it is this rank's file of this set.
Status check_rank_file(const RankFile& file);

}  // namespace lacuna::checkpoint
