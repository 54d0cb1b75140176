#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/engine/run.hpp"
#include "runtime/graph/algorithm.hpp"
#include "runtime/graph/contributions.hpp"

namespace lacuna {

/// Which ranks' values reach which elements of a call with a method, found by following the graphs of all positions. It
/// is a plain value for checks and reports. Its cost grows with the cube of the number of ranks.
class Gaps {
 public:
  /// `request` and `sampler` describe the call and its state as they are before the call starts.
  Gaps(const PlanRequest& request, const Sampler& sampler);

  /// Describes a run as it was last started.
  Gaps(const runtime::CollectiveRun& run, const Hosts& hosts);

  /// Returns what the output of rank `at` lacks, ascending by rank, then by offset. In a collective that gathers, an
  /// element lacks its owner's value only. It never lacks the values of ranks that have no input.
  std::vector<Gap> of(Rank at) const;

 private:
  struct Part {
    Stretch data;
    Order order;
    std::shared_ptr<const std::vector<CellContributions>> cells;
  };

  Gaps(const Call& call, Rank size);
  void follow(const Binding& binding, const Plan& plan);

  bool has_blocks_, gathers_;  // the collective has blocks; its output holds them
  std::size_t block_;          // elements
  Rank first_, end_;           // the ranks that have an input
  std::vector<Part> parts_;
};

}  // namespace lacuna
