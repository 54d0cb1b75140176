// An algorithm of one's own: two rings that turn in opposite directions, each with half of the data, so that both
// directions of every link are busy. docs/algorithms.md builds it step by step.
//   lacuna launch -n 4 ./example_multi_ring
#include <cstdio>
#include <numeric>
#include <vector>

#include "algorithms/registry.hpp"
#include "bindings/cpp/lacuna.hpp"

namespace {

using lacuna::GraphBuilder;
using lacuna::Rank;

void add_ring(GraphBuilder& g, Rank ring) {
  const Rank p = g.size(), me = g.position(), forward = ring == 0 ? 1 : -1;
  // Of 2 P pieces, this ring has P; position i owns the one of number i.
  const auto number = [&](Rank i) { return ring * p + (i % p + p) % p; };
  const auto input = [&](Rank i) { return g.input(number(i), number(i) + 1, 2 * p); };
  const auto output = [&](Rank i) { return g.output(number(i), number(i) + 1, 2 * p); };

  if (p == 1) g.copy(output(me), input(me));
  for (Rank s = 1; s < p; ++s) {  // each piece grows into the sum on its way to its owner
    const Rank sent = me - s * forward, arriving = me - (s + 1) * forward;
    g.send(s == 1 ? input(sent) : output(sent), me + forward);
    g.receive_reduce(output(arriving), input(arriving), me - forward);
  }
  g.finish(output(me));
  for (Rank s = 0; s < p - 1; ++s) {  // then it travels around once more
    g.send(output(me - s * forward), me + forward);
    g.receive(output(me - (s + 1) * forward), me - forward);
  }
}

const lacuna::Algorithm multi_ring = {
    .collective = lacuna::Collective::Allreduce,
    .name = "multi_ring",
    .summary = "two rings in opposite directions; 2(P-1) steps, 2(P-1)/P of the data per rank",
    .symmetric = false,
    .supports = nullptr,
    .build =
        [](GraphBuilder& g) {
          add_ring(g, 0);
          add_ring(g, 1);
        },
    .bind = nullptr,
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
  if (const auto status = world->allreduce<double>(mine, ours, {}, {.algorithm = "multi_ring"}); !status) {
    return fail(status);
  }
  if (const auto status = world->allreduce<double>(mine, theirs, {}, {.algorithm = "ring"}); !status) {
    return fail(status);
  }
  const bool equal = ours == theirs;
  std::printf("rank %d of %d: multi_ring and ring are %s\n", world->rank(), world->size(),
              equal ? "equal" : "different");
  return equal ? 0 : 1;
}
