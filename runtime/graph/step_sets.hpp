#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace lacuna {

/// A set of steps for each step.
class StepSets {
 public:
  explicit StepSets(std::size_t sets = 0) : sets_(sets) {}

  std::size_t size() const { return sets_.size(); }
  /// Adds an empty set.
  void add_set() { sets_.emplace_back(); }
  bool has(StepId set, StepId step) const {
    const auto& words = sets_[set];
    return step / bits < words.size() && (words[step / bits] >> step % bits & 1) != 0;
  }
  void add(StepId set, StepId step) {
    auto& words = sets_[set];
    if (words.size() <= step / bits) words.resize(step / bits + 1);
    words[step / bits] |= std::uint64_t{1} << step % bits;
  }
  /// Adds all steps of the set `other` to a set.
  void add_all(StepId set, StepId other) {
    auto& words = sets_[set];
    const auto& more = sets_[other];
    if (words.size() < more.size()) words.resize(more.size());
    for (std::size_t i = 0; i < more.size(); ++i) words[i] |= more[i];
  }

 private:
  static constexpr std::size_t bits = 64;

  std::vector<std::vector<std::uint64_t>> sets_;
};

}  // namespace lacuna
