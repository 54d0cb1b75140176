#include "algorithms/topk/selecting.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring, reduce_scatter_ring, allgather_ring;

constexpr std::array<MethodAlgorithm, 7> topk_algorithms = {{
    {&sparse_allgather, "sparse_allgather", "1 step, k(P-1) entries per rank; for few ranks", &allreduce_ring,
     sparse_allgather_bytes, nullptr, nullptr, exchange_rounds},
    {&sparse_split, "sparse_split", "2 steps, (P-1)/P of k entries and of those of the result per rank",
     &allreduce_ring, sparse_split_bytes, nullptr, nullptr, sparse_split_rounds},
    {&sparse_ring, "sparse_ring",
     "2(P-1) steps between neighbours, a P-th of the entries of each sum; capped, 2k(P-1)/P", &allreduce_ring,
     sparse_ring_bytes, nullptr, capped_entries, sparse_ring_rounds},
    {&sparse_doubling, "sparse_doubling",
     "log2 P steps, the entries of sums of 1, 2, 4 ... ranks; for small selections", &allreduce_ring,
     sparse_doubling_bytes, nullptr, nullptr, sparse_doubling_rounds},
    {&gtopk, "gtopk", "2 log2 P steps, never more than k entries, in the result neither; what is dropped is fed back",
     &allreduce_ring, gtopk_bytes, gtopk_path_bytes, capped_entries, gtopk_rounds},
    {&sparse_reduce_scatter, "sparse_split", "1 step, (P-1)/P of k entries per rank", &reduce_scatter_ring,
     sparse_reduce_scatter_bytes, nullptr, nullptr, exchange_rounds},
    {&sparse_gather_blocks, "sparse_allgather", "1 step, k(P-1) entries per rank", &allgather_ring,
     sparse_allgather_bytes, nullptr, nullptr, exchange_rounds},
}};

/// Among few ranks an exchange of all selections costs least. Among more ranks, selections have more places in common,
/// so that it pays to sum them up first.
std::string_view preferred_topk(const Call& call, const Hosts& hosts) {
  if (call.collective == Collective::Allgather) return "sparse_allgather";
  if (call.collective == Collective::Allreduce && topk_of(call).capped) return "sparse_ring";
  return call.collective == Collective::Allreduce && hosts.size() <= 4 ? "sparse_allgather" : "sparse_split";
}

}  // namespace lacuna
