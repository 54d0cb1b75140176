#pragma once

#include <array>

#include "algorithms/phases/predictions.hpp"
#include "algorithms/phases/sparse.hpp"
#include "algorithms/topk/form.hpp"
#include "algorithms/topk/topk.hpp"
#include "kernels/backend.hpp"
#include "runtime/method/method.hpp"

/// This file has what the files of topk share.
namespace lacuna {

inline const Topk& topk_of(const Call& call) { return call.options.method.as<Topk>(); }

/// So many messages are added at once at most.
inline constexpr auto most_added_at_once = static_cast<Rank>(kernels::Backend::most_views);

/// Returns how many entries a rank is to send of `places` elements. `run` is the number of the run among those of its
/// state, from 1, or 0 without a state.
std::size_t entries_asked(const Topk& options, std::size_t places, std::uint64_t run);

/// Selects from the sum of the input and the residual, and leaves the rest in the residual. All algorithms of topk
/// begin with this step.
sparse::Selection select(GraphBuilder& g);

/// These are the functions of the method.
Status check_topk(const Call& call, const Algorithm& algorithm, const Hosts& hosts);
void plan_topk(const PlanRequest& request, Plan& plan);
std::string_view preferred_topk(const Call& call, const Hosts& hosts);
std::string_view reason_topk(const Call& call, const Hosts& hosts);
bool lossless_topk(const Call& call, const Hosts& hosts, std::size_t entries);

extern const Algorithm sparse_allgather, sparse_split, sparse_ring, sparse_doubling, gtopk;
extern const Algorithm sparse_reduce_scatter, sparse_gather_blocks;
extern const std::array<MethodAlgorithm, 7> topk_algorithms;

/// Return what the algorithms are expected to send (Predictions).
double sparse_allgather_bytes(const ExpectedPart& part);
double sparse_split_bytes(const ExpectedPart& part);
double sparse_ring_bytes(const ExpectedPart& part);
double sparse_doubling_bytes(const ExpectedPart& part);
double gtopk_bytes(const ExpectedPart& part);
double gtopk_path_bytes(const ExpectedPart& part);
double capped_entries(const ExpectedPart& part);
double sparse_reduce_scatter_bytes(const ExpectedPart& part);

/// Return the rounds of the algorithms (MethodAlgorithm::rounds).
int exchange_rounds(const PartPlan& part, Rank size);
int sparse_split_rounds(const PartPlan& part, Rank size);
int sparse_ring_rounds(const PartPlan& part, Rank size);
int sparse_doubling_rounds(const PartPlan& part, Rank size);
int gtopk_rounds(const PartPlan& part, Rank size);

}  // namespace lacuna
