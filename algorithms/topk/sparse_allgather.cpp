#include "algorithms/topk/selecting.hpp"

namespace lacuna {

// Each rank's selection goes to all others, and every rank adds all of them.
// 1 step; each rank gets the entries of all others, so it pays where ranks are few or select different places.
constexpr Algorithm sparse_allgather = {
    .collective = Collective::Allreduce,
    .name = "sparse_allgather",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          const sparse::Selection mine = select(g);
          sparse::sum_to_output(g, sparse::exchange(g, sparse::pack_whole(g, mine)));
        },
    .parameters = &parameter_set<TopkForm>,
};

// The same for an allgather: the selections become the ranks' blocks of the result.
constexpr Algorithm sparse_gather_blocks = {
    .collective = Collective::Allgather,
    .name = "sparse_allgather",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          const sparse::Selection mine = select(g);
          sparse::place_in_blocks(g, sparse::exchange(g, sparse::pack_whole(g, mine)));
        },
    .parameters = &parameter_set<TopkForm>,
};

}  // namespace lacuna
