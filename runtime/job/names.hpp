#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/values/dtype.hpp"

namespace lacuna::runtime {

/// "rank 2", "ranks 0, 1, 5-9": for messages; `ranks` ascend.
std::string name_ranks(const std::vector<Rank>& ranks);

/// "rank 2 (host alpha)"
std::string name_rank(Rank rank, std::string_view host);

/// "10 s", "250 ms"
std::string name_duration(std::chrono::milliseconds duration);

}  // namespace lacuna::runtime
