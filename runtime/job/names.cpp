#include "runtime/job/names.hpp"

#include <fmt/format.h>

namespace lacuna::runtime {

std::string name_ranks(const std::vector<Rank>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last < i + 2) last = i;
    if (i != 0) text += ", ";
    text += last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string name_rank(Rank rank, std::string_view host) { return fmt::format("rank {} (host {})", rank, host); }

std::string name_aggregator(Rank number, std::string_view host) {
  return fmt::format("aggregator {} (host {})", number, host);
}

std::string name_duration(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  return count % 1000 == 0 ? fmt::format("{} s", count / 1000) : fmt::format("{} ms", count);
}

}  // namespace lacuna::runtime
