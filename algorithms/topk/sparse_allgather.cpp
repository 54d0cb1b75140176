#include "algorithms/topk/selecting.hpp"

namespace lacuna {

// Each rank's selection goes to all others, and every rank adds all of them.
// It takes 1 round. Each rank gets the entries of all others, so that it pays if ranks are few or select different
// places.
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

// An allgather exchanges selections in the same way. They become the ranks' blocks of the result.
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
