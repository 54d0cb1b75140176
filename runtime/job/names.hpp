#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/values/dtype.hpp"

namespace lacuna::runtime {

/// A text such as "rank 2" or "ranks 0, 1, 5-9". `ranks` must ascend.
std::string name_ranks(const std::vector<Rank>& ranks);

/// A text such as "rank 2 (host alpha)".
std::string name_rank(Rank rank, std::string_view host);
/// A text such as "aggregator 1 (host alpha)".
std::string name_aggregator(Rank number, std::string_view host);

/// A text such as "10 s" or "250 ms".
std::string name_duration(std::chrono::milliseconds duration);

}  // namespace lacuna::runtime
