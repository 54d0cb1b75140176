#include "bindings/checkpoint/config_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

namespace lacuna::checkpoint {

namespace {

using Lines = std::span<const std::string_view>;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::size_t common_start(Lines left, Lines right) {
  const std::size_t most = std::min(left.size(), right.size());
  std::size_t same = 0;
  while (same < most && left[same] == right[same]) ++same;
  return same;
}

std::size_t common_end(Lines left, Lines right) {
  const std::size_t most = std::min(left.size(), right.size());
  std::size_t same = 0;
  while (same < most && left[left.size() - 1 - same] == right[right.size() - 1 - same]) ++same;
  return same;
}

/// lengths[i * (right.size() + 1) + j] is how many lines the longest common subsequence of left[i ..] and right[j ..]
/// has.
std::vector<std::size_t> common_lengths(Lines left, Lines right) {
  const std::size_t width = right.size() + 1;
  std::vector<std::size_t> lengths((left.size() + 1) * width);
  for (std::size_t i = left.size(); i-- > 0;) {
    for (std::size_t j = right.size(); j-- > 0;) {
      const std::size_t without = std::max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
      lengths[i * width + j] = left[i] == right[j] ? lengths[(i + 1) * width + j + 1] + 1 : without;
    }
  }
  return lengths;
}

}  // namespace

std::string config_difference(std::string_view old_text, std::string_view new_text) {
  const std::vector<std::string_view> old_lines = lines_of(old_text);
  const std::vector<std::string_view> new_lines = lines_of(new_text);
  const std::size_t start = common_start(old_lines, new_lines);
  const std::size_t end = common_end(Lines(old_lines).subspan(start), Lines(new_lines).subspan(start));
  const Lines left = Lines(old_lines).subspan(start, old_lines.size() - start - end);
  const Lines right = Lines(new_lines).subspan(start, new_lines.size() - start - end);

  const std::size_t width = right.size() + 1;
  const std::vector<std::size_t> lengths = common_lengths(left, right);
  std::string text;
  for (std::size_t i = 0, j = 0; i < left.size() || j < right.size();) {
    if (i < left.size() && j < right.size() && left[i] == right[j]) {
      ++i, ++j;
    } else if (j == right.size() || (i < left.size() && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
      fmt::format_to(std::back_inserter(text), "-{}: {}\n", start + i + 1, left[i]);
      ++i;
    } else {
      fmt::format_to(std::back_inserter(text), "+{}: {}\n", start + j + 1, right[j]);
      ++j;
    }
  }
  return text;
}

}  // namespace lacuna::checkpoint
