#include "algorithms/phases/hypercube_phases.hpp"
#include "algorithms/phases/sparse_kernels.hpp"
#include "algorithms/topk/selecting.hpp"

namespace lacuna {
namespace {

/// The own sum and a message of rank given[0]; with given[1] the result.
Status add_pair(const KernelCall& call) {
  const sparse::Range all = sparse::piece_range(call.part, 0, 1);
  sparse::Views views = sparse::Views::of(call, 3, all);
  Status sound = views.add_message(call, call.reads[0], call.part.position, all);
  if (sound) sound = views.add_message(call, call.reads[1], static_cast<Rank>(call.given[0]), all);
  if (!sound) return sound;
  return sparse::merge(call, views, all, call.given[1] ? sparse::scale_of(call.part) : Scale());
}
constexpr Kernel add_pair_kernel = {"add messages", add_pair};

/// The sum so far, in one of two places in turn: the other may still be on its way.
class RunningSum {
 public:
  RunningSum(GraphBuilder& g, Region own, std::size_t terms)
      : g_(g), sum_(own), terms_(terms), rooms_(sparse::merge_rooms(g)), other_(sparse::message_room(g)) {}

  const Region& message() const { return sum_; }
  void add(Rank from) {
    const Region there = sparse::receive_message(g_, from);
    const Value bytes = g_.value();
    g_.kernel(add_pair_kernel,
              {.reads = {sum_, there}, .writes = rooms_.regions(), .defines = {bytes}, .given = {from, --terms_ == 0}});
    sum_ = GraphBuilder::counted(rooms_.message, bytes);
    std::swap(rooms_.message, other_);
  }

 private:
  GraphBuilder& g_;
  Region sum_;
  std::size_t terms_;
  sparse::MergeRooms rooms_;
  Region other_;
};

void build(GraphBuilder& g) {
  const Topology cube = largest_hypercube(g);
  const Region own = sparse::pack_whole(g, select(g));
  if (g.position() >= cube.size()) {
    const Rank partner = g.position() - cube.size();
    g.send(own, partner);
    return sparse::place_pieces(g, {sparse::receive_message(g, partner)}, partner, 0, 1);
  }
  const auto outside = partner_outside(g, cube);
  const std::vector<Rank> peers = cube.neighbours(g.position());
  RunningSum sum(g, own, peers.size() + (outside ? 1 : 0));
  if (outside) sum.add(*outside);
  for (Rank peer : peers) {
    g.send(sum.message(), peer);
    sum.add(peer);
  }
  if (outside) g.send(sum.message(), *outside);
  sparse::place_pieces(g, {sum.message()}, g.position(), 0, 1);
}

}  // namespace

// In round k each rank exchanges all that it has summed with the rank at distance 2^k.
// ceil(log2 P) steps (one more when P is no power of two); each rank gets the entries of the sums of 1, 2, 4 ... ranks.
// Source: Renggli, Ashkboos, Aghagolzadeh, Alistarh, Hoefler: SparCML (SC 2019), recursive doubling.
constexpr Algorithm sparse_doubling = {
    .collective = Collective::Allreduce,
    .name = "sparse_doubling",
    .symmetric = false,
    .build = build,
};

}  // namespace lacuna
