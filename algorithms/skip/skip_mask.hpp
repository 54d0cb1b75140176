#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/engine/run.hpp"
#include "runtime/graph/algorithm.hpp"
#include "runtime/graph/contributions.hpp"

namespace lacuna {

/// Which ranks' values reach which elements of a call that skips, found by following the graphs of all positions. A
/// plain value for checks and reports: what it costs grows with the cube of the number of ranks.
class SkipMask {
 public:
  /// The call, its sampler and its state as they are before it is started.
  SkipMask(const Call& call, const Algorithm& algorithm, const Hosts& hosts, const Sampler& sampler,
           std::size_t chunk_bytes);

  /// Of a run as it was last started.
  SkipMask(const runtime::Run& run, const Hosts& hosts);

  /// What the output of rank `at` lacks, ascending by rank, then by offset. In one that gathers, an element lacks its
  /// owner's value only.
  std::vector<SkipGap> gaps(Rank at) const;

 private:
  struct Part {
    runtime::Stretch data;
    Order order;
    std::shared_ptr<const std::vector<CellContributions>> cells;
  };

  SkipMask(const Call& call, Rank size);
  void follow(const Call& call, const Algorithm& algorithm, const Hosts& hosts, const Sampler& sampler,
              const runtime::Plan& plan);

  Rank size_;
  bool has_blocks_, gathers_;  // of the collective; does its output hold them?
  std::size_t block_;          // elements
  std::vector<Part> parts_;
};

}  // namespace lacuna
