#include "algorithms/topk/selecting.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring, reduce_scatter_ring, allgather_ring;

namespace {

constexpr Predictions of_allgather = {.bytes = sparse_allgather_bytes, .most_entries = sparse::room_of};
constexpr Predictions of_split = {.bytes = sparse_split_bytes, .most_entries = sparse::room_of};
constexpr Predictions of_ring = {
    .bytes = sparse_ring_bytes, .most_entries = sparse::room_of, .result_entries = capped_entries};
constexpr Predictions of_doubling = {.bytes = sparse_doubling_bytes, .most_entries = sparse::room_of};
constexpr Predictions of_gtopk = {.bytes = gtopk_bytes,
                                  .path_bytes = gtopk_path_bytes,
                                  .most_entries = sparse::room_of,
                                  .result_entries = capped_entries};
constexpr Predictions of_reduce_scatter = {.bytes = sparse_reduce_scatter_bytes, .most_entries = sparse::room_of};

}  // namespace

constexpr std::array<MethodAlgorithm, 7> topk_algorithms = {{
    {.algorithm = &sparse_allgather,
     .name = "sparse_allgather",
     .summary = "1 round, k(P-1) entries per rank; for few ranks",
     .dense = &allreduce_ring,
     .rounds = exchange_rounds,
     .predictions = &of_allgather},
    {.algorithm = &sparse_split,
     .name = "sparse_split",
     .summary = "2 rounds, (P-1)/P of k entries and of those of the result per rank",
     .dense = &allreduce_ring,
     .rounds = sparse_split_rounds,
     .predictions = &of_split},
    {.algorithm = &sparse_ring,
     .name = "sparse_ring",
     .summary = "2(P-1) rounds between neighbours, a P-th of the entries of each sum; capped, 2k(P-1)/P",
     .dense = &allreduce_ring,
     .rounds = sparse_ring_rounds,
     .predictions = &of_ring},
    {.algorithm = &sparse_doubling,
     .name = "sparse_doubling",
     .summary = "log2 P rounds, the entries of sums of 1, 2, 4 ... ranks; for small selections",
     .dense = &allreduce_ring,
     .rounds = sparse_doubling_rounds,
     .predictions = &of_doubling},
    {.algorithm = &gtopk,
     .name = "gtopk",
     .summary = "2 log2 P rounds, k entries at most in a message and in the result; what is dropped is fed back",
     .dense = &allreduce_ring,
     .rounds = gtopk_rounds,
     .predictions = &of_gtopk},
    {.algorithm = &sparse_reduce_scatter,
     .name = "sparse_split",
     .summary = "1 round, (P-1)/P of k entries per rank",
     .dense = &reduce_scatter_ring,
     .rounds = exchange_rounds,
     .predictions = &of_reduce_scatter},
    {.algorithm = &sparse_gather_blocks,
     .name = "sparse_allgather",
     .summary = "1 round, k(P-1) entries per rank",
     .dense = &allgather_ring,
     .rounds = exchange_rounds,
     .predictions = &of_allgather},
}};

namespace {

struct Choice {
  std::string_view algorithm, reason;
};

Choice choice(const Call& call, const Hosts& hosts) {
  if (call.collective == Collective::Allgather) return {"sparse_allgather", "no other one gathers blocks"};
  if (call.collective != Collective::Allreduce) return {"sparse_split", "no other one scatters sums"};
  if (topk_of(call).capped) return {"sparse_ring", "only its messages can be capped"};
  if (hosts.size() <= 4) return {"sparse_allgather", "on up to 4 ranks an exchange of all selections costs least"};
  if (hosts.size() > most_added_at_once) {
    return {"sparse_doubling", "so many messages can't be added at once, and a ring would have more rounds"};
  }
  return {"sparse_split", "on more than 4 ranks, selections have many places in common, and are added up first"};
}

}  // namespace

std::string_view preferred_topk(const Call& call, const Hosts& hosts) { return choice(call, hosts).algorithm; }
std::string_view reason_topk(const Call& call, const Hosts& hosts) { return choice(call, hosts).reason; }

}  // namespace lacuna
