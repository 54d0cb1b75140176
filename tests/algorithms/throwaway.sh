#!/usr/bin/env bash
# Shows that an algorithm is one file and one line, and a method one folder and one line: adds one of each to a copy of
# the tree, and every list, command and generated test takes them in.
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

mkdir -p algorithms/forgetful
cat >algorithms/forgetful/options.def <<'CODE'
LACUNA_OPTION(rounds, int, 0, 0, 64, "rounds left out of the ring")
LACUNA_OPTION(weight, double, 1, 0, 100, "what the sum of the others is multiplied by")
LACUNA_OPTION(remembers, bool, false, 0, 1, "what is left out is added next time")
CODE
cat >algorithms/forgetful/method.cpp <<'CODE'
#include "algorithms/phases/left_out.hpp"
#include "runtime/method/method.hpp"

namespace lacuna {

extern const Algorithm allreduce_ring;

namespace {

struct Forgetful {
#define LACUNA_OPTION(name, type, value, ...) type name = value;
#include "algorithms/forgetful/options.def"
#undef LACUNA_OPTION
};

constexpr Option options[] = {
#define LACUNA_OPTION(name, type, value, least, most, help) option::of<&Forgetful::name>(#name, {least, most}, nullptr, help),
#include "algorithms/forgetful/options.def"
#undef LACUNA_OPTION
};
constexpr std::string_view numbers[] = {"rounds"}, outcomes[] = {"dense", "forgotten"};
constexpr MethodAlgorithm algorithms[] = {{&allreduce_ring, "forgetful_ring", "without some rounds"}};

const Forgetful& of(const Call& call) { return call.options.method.as<Forgetful>(); }

Status check(const Call& call, const Algorithm&, const Hosts& hosts) {
  if (of(call).rounds >= hosts.size()) return {Code::InvalidArgument, "forgetful: too many rounds"};
  if (of(call).remembers && !call.options.state) return {Code::InvalidArgument, "forgetful.remembers needs a state"};
  if (call.reduction == Reduction::Sum || call.reduction == Reduction::Avg) return {};
  return {Code::InvalidArgument, "forgetful: only sums"};
}

void plan(const PlanRequest& request, Plan& plan) {
  const Forgetful& asked = of(request.call);
  PartPlan part{.data = {0, request.call.count}, .missing = {.rule = Missing::Rule::Factor, .factor = asked.weight}};
  part.structure.numbers[rounds_left_out] = asked.rounds;
  part.outcome = asked.rounds > 0;
  part.structure.feedback = asked.remembers;
  plan.reports = asked.rounds > 0;
  plan.numbers[0] = asked.rounds;
  add_parts(request.call, part, request.hosts.size(), request.chunk_bytes, plan);
}

}  // namespace

extern const Method forgetful_method = {
    .name = "forgetful",
    .summary = "leaves rounds out",
    .options = options,
    .numbers = numbers,
    .outcomes = outcomes,
    .algorithms = algorithms,
    .make = [](const void* like) -> std::shared_ptr<void> {
      return like ? std::make_shared<Forgetful>(*static_cast<const Forgetful*>(like)) : std::make_shared<Forgetful>();
    },
    .is_on = [](const void* given) { return static_cast<const Forgetful*>(given)->rounds > 0; },
    .preferred = [](const Call&, const Hosts&) -> std::string_view { return "ring"; },
    .check = check,
    .plan = plan};

}  // namespace lacuna
CODE
printf 'LACUNA_METHOD(forgetful_method)\n' >>algorithms/methods.def

export CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1
cmake --preset release -DLACUNA_TESTS=ON -DLACUNA_WERROR=ON
cmake --build --preset release --parallel "$(nproc)" --target algorithms_tests lacuna_worker lacuna
bin=build/release/bin
"$bin/lacuna" list | grep throwaway
"$bin/lacuna" explain allreduce --algorithm throwaway --ranks 4 | grep throwaway
# On an odd number of ranks and on a power of two: the tests of the whole list have run the others.
"$bin/algorithms_tests" --gtest_filter='Full*/P3:Full*/P4:Pairwise*:Adversarial*:Groups*:Registry*'
"$bin/lacuna" launch -n 3 "$bin/lacuna_worker" size=3 conformance | grep 'allreduce throwaway: [1-9]'

"$bin/lacuna" list | grep forgetful
"$bin/lacuna" list forgetful | grep weight
"$bin/lacuna" explain allreduce --ranks 4 --method forgetful:rounds=2 | grep '> forgetful_ring .* 2 '
"$bin/lacuna" graph allreduce --ranks 4 --method forgetful:rounds=2 | grep 'forgetful:rounds=2'
expect_hint() {
  local said
  if said=$("$bin/lacuna" explain allreduce --method "$1" 2>&1) || [[ $said != *"$2"* ]]; then
    printf '%s is not refused with the hint %s: %s\n' "$1" "$2" "$said"
    exit 1
  fi
}
expect_hint forgetful:round=1 'did you mean rounds?'
expect_hint forgetful:rounds=65 'must be 0 .. 64'
expect_hint forgetfull 'did you mean forgetful?'
"$bin/lacuna" launch -n 3 "$bin/lacuna" perf allreduce -b 4 -e 1M -f 64 -n 2 --method forgetful:rounds=1,weight=2 |
  grep 'Out of bounds values : 0 OK'
tests/algorithms/methods_are_unnamed.sh "$bin/lacuna"

