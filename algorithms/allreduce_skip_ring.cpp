#include <fmt/format.h>

#include "algorithms/ring_phases.hpp"
#include "algorithms/skip_mask.hpp"
#include "runtime/algorithm.hpp"
#include "runtime/values/philox.hpp"

namespace lacuna {
namespace {

Status supports(const Call& call, const Hosts& hosts) {
  const Rank size = hosts.size();
  const int skip = call.options.skip_steps;
  if (skip < 0 || skip > size - 1) {
    return {Code::InvalidArgument, fmt::format("skip_steps is {}, must be 0 .. {} on {} ranks", skip, size - 1, size)};
  }
  if (call.reduction != Reduction::Sum && call.reduction != Reduction::Avg) {
    return {Code::InvalidArgument, fmt::format("skip_ring leaves out terms of a sum: the reduction is {}, must be sum "
                                               "or avg",
                                               to_string(call.reduction))};
  }
  return {};
}

Order bind(const Binding& binding, std::uint32_t part) {
  const Rank size = binding.hosts.size();
  return {size, skip_ring_shift(binding.call, size, binding.sampler, part)};
}

}  // namespace

// Random: each part turns the ring by a draw of its own, so that over all turns each rank loses each piece equally
// often. Without skipped steps nothing turns: the result is the dense ring's, bit for bit.
Rank skip_ring_shift(const Call& call, Rank size, const Sampler& sampler, std::uint32_t part) {
  if (call.options.skip_mode == SkipMode::Static || call.options.skip_steps == 0) return 0;
  return static_cast<Rank>(bounded_draw(sampler, part, static_cast<std::uint32_t>(size)));
}

// SkipReduce (Kasan, Abts, Choi, Kim, MICRO 2025, section 4): the ring allreduce without its first S reduce-scatter
// steps. Each piece starts its way S ranks later, so the S ranks that follow its owner never add to it; zeros stand for
// them, and avg still divides by P. 2(P-1)-S steps; each rank sends (2(P-1)-S)/P of the data.
extern const Algorithm allreduce_skip_ring;
const Algorithm allreduce_skip_ring = {
    .collective = Collective::Allreduce,
    .name = "skip_ring",
    .summary = "SkipReduce: S reduce-scatter steps left out; 2(P-1)-S steps, (2(P-1)-S)/P of the data per rank",
    .symmetric = true,
    .supports = supports,
    .build = [](GraphBuilder& g) { ring_allreduce(g, g.skip_steps()); },
    .bind = bind,
};

}  // namespace lacuna
