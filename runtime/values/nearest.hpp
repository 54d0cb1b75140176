#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lacuna {

/// The least number of insertions, deletions and substitutions of one character that turn `a` into `b`.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, substituted});
    }
  }
  return row.back();
}

/// The candidate that was probably meant by a misspelt name. It is empty if none is closer than half of the name's
/// length. Candidates may have any type that converts to std::string_view. They must outlive the result.
template <class Range>
std::string_view nearest(std::string_view given, const Range& candidates) {
  std::string_view best;
  std::size_t best_distance = (given.size() + 1) / 2;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(given, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

/// Returns " (did you mean NAME?)" for the candidate that was probably meant, or nothing.
template <class Range>
std::string did_you_mean(std::string_view given, const Range& candidates) {
  const std::string_view meant = nearest(given, candidates);
  return meant.empty() ? std::string() : " (did you mean " + std::string(meant) + "?)";
}

}  // namespace lacuna
