#!/usr/bin/env bash
# Shows that an algorithm is one file and one line: adds one to a copy of the tree, and every generated test takes it in.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tree=$PWD/build/throwaway
rm -rf "$tree/algorithms"
mkdir -p "$tree"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  if [[ -e $file ]]; then printf '%s\0' "$file"; fi
done | xargs -0 cp --parents --preserve=timestamps -t "$tree"
cd "$tree"

cat >algorithms/allreduce_throwaway.cpp <<'CODE'
#include "algorithms/registry.hpp"

namespace lacuna {
namespace {

/// Everybody sends everything to position 0, which adds it up and sends the result to everybody.
void build(GraphBuilder& graph) {
  if (graph.position() != 0) {
    graph.send(graph.input(), 0);
    graph.receive(graph.output(), 0);
    return;
  }
  Region sum = graph.input();
  for (Rank peer = 1; peer < graph.size(); ++peer) {
    graph.receive_reduce(graph.output(), sum, peer);
    sum = graph.output();
  }
  if (graph.size() == 1) graph.copy(graph.output(), graph.input());
  graph.finish(graph.output());
  for (Rank peer = 1; peer < graph.size(); ++peer) graph.send(graph.output(), peer);
}

}  // namespace

extern const Algorithm allreduce_throwaway{.collective = Collective::Allreduce,
                                           .name = "throwaway",
                                           .summary = "all to one and back",
                                           .symmetric = false,
                                           .build = build};

}  // namespace lacuna
CODE
printf 'LACUNA_ALGORITHM(allreduce_throwaway)\n' >>algorithms/manifest.def

export CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1
cmake --preset release -DLACUNA_TESTS=ON -DLACUNA_WERROR=ON
cmake --build --preset release --parallel "$(nproc)" --target algorithms_tests lacuna_worker lacuna
bin=build/release/bin
"$bin/lacuna" list | grep throwaway
"$bin/lacuna" explain allreduce --algorithm throwaway --ranks 4 | grep throwaway
# On an odd number of ranks and on a power of two: the tests of the whole list have run the others.
"$bin/algorithms_tests" --gtest_filter='Full*/P3:Full*/P4:Pairwise*:Adversarial*:Groups*:Registry*'
"$bin/lacuna" launch -n 3 "$bin/lacuna_worker" size=3 conformance | grep 'allreduce throwaway: [1-9]'
