#include "runtime/values/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/values/count_of.hpp"
#include "runtime/values/extent.hpp"

namespace lacuna {

std::size_t offset_of(const Blocks& blocks, Rank rank) {
  const auto i = static_cast<std::size_t>(rank);
  if (i < blocks.offsets.size()) return blocks.offsets[i];
  const auto before = blocks.counts.first(i);
  return std::accumulate(before.begin(), before.end(), std::size_t{0});
}

std::size_t length_of(const Blocks& blocks) {
  for (std::size_t i = blocks.counts.size(); i-- > 0;) {
    if (blocks.counts[i] > 0) return offset_of(blocks, static_cast<Rank>(i)) + blocks.counts[i];
  }
  return 0;
}

std::size_t longest_of(const Blocks& blocks) {
  return blocks.counts.empty() ? 0 : *std::max_element(blocks.counts.begin(), blocks.counts.end());
}

Status check_blocks(const Blocks& blocks, std::string_view name, Rank size, Dtype dtype) {
  const auto ranks = static_cast<std::size_t>(size);
  const auto wrong_length = [&](std::size_t length, bool may_lack) {
    return length != ranks && !(may_lack && length == 0);
  };
  const bool counts = wrong_length(blocks.counts.size(), false);
  const bool offsets = wrong_length(blocks.offsets.size(), true);
  if (counts || offsets || wrong_length(blocks.received.size(), true)) {
    const auto length = counts ? blocks.counts.size() : offsets ? blocks.offsets.size() : blocks.received.size();
    return {Code::InvalidArgument, fmt::format("the {} has {} {}, must have {}, one for each rank", name, length,
                                               counts    ? "counts"
                                               : offsets ? "offsets"
                                                         : "places for received counts",
                                               size)};
  }
  const std::size_t most = most_elements(dtype);
  std::size_t end = 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    if (blocks.counts[i] == 0) continue;
    const std::size_t begin = blocks.offsets.empty() ? end : blocks.offsets[i];
    if (begin < end) {
      return {Code::InvalidArgument, fmt::format("block {} of the {} begins at element {}, must begin after the "
                                                 "blocks before it, at {} or later",
                                                 i, name, begin, end)};
    }
    if (begin > most || blocks.counts[i] > most - begin) {
      return {Code::InvalidArgument,
              fmt::format("block {} of the {} has {} of {} from {} on: no memory holds "
                          "them, at most {} in all are allowed",
                          i, name, count_of(blocks.counts[i], "element"), to_string(dtype), begin, most)};
    }
    end = begin + blocks.counts[i];
  }
  return {};
}

}  // namespace lacuna
