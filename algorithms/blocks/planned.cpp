#include "algorithms/blocks/steps.hpp"

namespace lacuna::block {
namespace {

void build_whole(GraphBuilder& g) { spread(g, collect(g)); }
void build_reduce_scatter(GraphBuilder& g) { place_own(g, collect(g)); }
void build_allgather(GraphBuilder& g) { spread(g, take_own(g)); }

constexpr Algorithm planned(Collective collective, void (*build)(GraphBuilder& g)) {
  return {.collective = collective,
          .name = "planned_blocks",
          .symmetric = false,
          .build = build,
          .order = collective == Collective::Broadcast ? from_root : nullptr,
          .parameters = &parameter_set<Form>};
}

}  // namespace

// The owners first get the set of the blocks that each rank will send them. So they know who sends what, receive just
// that, and reduce it in the order of the ranks. Then they send the set of the blocks that anybody had, and the
// reduced blocks, to all ranks. It takes 2 rounds. If all ranks are owners, and a share D of the blocks of each rank
// and D_U of those of the result is not zero, each rank sends and receives (P-1)/P (D + D_U) of the data's bytes, and
// at most a bit for each block. Source: Fei, Ho, Sahu, Canini, Sapio: OmniReduce (SIGCOMM 2021), where the owners learn
// only with each block which block of a rank comes next (streamed.cpp).
constexpr Algorithm allreduce = planned(Collective::Allreduce, build_whole);
// The first half of the allreduce. A shard is a block of the collective.
constexpr Algorithm reduce_scatter = planned(Collective::ReduceScatter, build_reduce_scatter);
// The second half of the allreduce. A shard is a block of the collective.
constexpr Algorithm allgather = planned(Collective::Allgather, build_allgather);
// The allreduce of the root's data and of nothing else. Only the root sends in the first round.
constexpr Algorithm broadcast = planned(Collective::Broadcast, build_whole);

}  // namespace lacuna::block
