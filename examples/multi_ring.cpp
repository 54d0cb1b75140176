// Registers an algorithm of its own: two rings that turn in opposite directions, each with half of the data, so that
// both directions of every link are busy. docs/algorithms.md builds it step by step.
//   lacuna launch -n 4 ./example_multi_ring
#include <algorithm>
#include <cstdio>
#include <lacuna/algorithms/phases/ring_phases.hpp>
#include <lacuna/algorithms/registry/registry.hpp>
#include <lacuna/lacuna.hpp>
#include <numeric>
#include <vector>

namespace {

using lacuna::GraphBuilder;
using lacuna::Rank;

void add_ring(GraphBuilder& g, bool backwards) {
  const Rank p = g.size();
  std::vector<Rank> order(static_cast<std::size_t>(p));
  std::iota(order.begin(), order.end(), 0);
  if (backwards) std::reverse(order.begin(), order.end());
  const lacuna::Line ring = lacuna::Topology::ring(order)->line(g.position());

  const Rank first = backwards ? p : 0;  // this ring has P of the 2 P pieces
  const auto input = [&](Rank i) { return g.input(first + i, first + i + 1, 2 * p); };
  const auto output = [&](Rank i) { return g.output(first + i, first + i + 1, 2 * p); };
  const auto partial = [&](Rank, Rank i) { return output(i); };

  lacuna::ring_reduce_scatter(g, ring, input, partial);  // each piece grows into the sum on its way to its owner
  g.finish(output(ring.own));
  lacuna::ring_allgather(g, ring, output);  // then it travels around once more
}

const lacuna::Algorithm multi_ring = {
    .collective = lacuna::Collective::Allreduce,
    .name = "multi_ring",
    .summary = "two rings in opposite directions; 2(P-1) rounds, 2(P-1)/P of the data per rank",
    .symmetric = false,
    .build =
        [](GraphBuilder& g) {
          add_ring(g, false);
          add_ring(g, true);
        },
};

int fail(const lacuna::Status& status) {
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return 1;
}

}  // namespace

int main() {
  if (const auto status = lacuna::register_algorithm(multi_ring); !status) return fail(status);
  auto world = lacuna::Communicator::world();
  if (!world) return fail(world.status());
  std::vector<double> mine(100'001), ours(mine.size()), theirs(mine.size());
  std::iota(mine.begin(), mine.end(), world->rank());
  if (const auto status = world->call(lacuna::allreduce(mine, ours, {}, {.algorithm = "multi_ring"})); !status) {
    return fail(status);
  }
  if (const auto status = world->call(lacuna::allreduce(mine, theirs, {}, {.algorithm = "ring"})); !status) {
    return fail(status);
  }
  const bool equal = ours == theirs;
  std::printf("rank %d of %d: multi_ring and ring are %s\n", world->rank(), world->size(),
              equal ? "equal" : "different");
  return equal ? 0 : 1;
}
