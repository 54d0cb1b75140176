#!/usr/bin/env bash
# Shows that an algorithm is one file and one line, and a method one folder and one line. It adds an algorithm and three
# methods to a copy of the tree. Every list, every command, every generated test, `lacuna run` and the C interface then
# have them. `forgetful` uses most of what a method may use, `wordless` has no measures, and `frugal` sends elements of
# another type.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

parts=$PWD/tests/algorithms/throwaway
tree=$PWD/build/throwaway
tests/support/copy_tree.sh "$tree"
cd "$tree"

cp -p "$parts/allreduce_throwaway.cpp" algorithms/
printf 'LACUNA_ALGORITHM(allreduce_throwaway)\n' >>algorithms/manifest.def
for method in forgetful wordless frugal; do
  cp -pr "$parts/$method" algorithms/
  printf 'LACUNA_METHOD(%s_method)\n' "$method" >>algorithms/methods.def
done

export CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1
cmake --preset release -DLACUNA_TESTS=ON -DLACUNA_WERROR=ON -DLACUNA_FORTRAN=OFF
cmake --build --preset release --parallel "$(nproc)" --target algorithms_tests lacuna_worker lacuna lacuna_c
bin=$tree/build/release/bin
"$bin/lacuna" list | grep throwaway
"$bin/lacuna" explain allreduce --algorithm throwaway --ranks 4 | grep throwaway
# Runs the tests on an odd number of ranks and on a power of two. The tests of the whole list have run the others.
"$bin/algorithms_tests" --gtest_filter='Full*/P3:Full*/P4:Pairwise*:Adversarial*:Groups*:Registry*:*Methods*/forgetful:*Methods*/wordless:*Methods*/frugal'
"$bin/lacuna" launch -n 3 "$bin/lacuna_worker" size=3 conformance | grep 'allreduce throwaway: [1-9]'

"$bin/lacuna" list | grep forgetful
"$bin/lacuna" list forgetful | grep weight
"$bin/lacuna" explain allreduce --ranks 4 --method forgetful:rounds=2 | grep '> forgetful_ring .* 2 '
"$bin/lacuna" graph allreduce --ranks 4 --method forgetful:rounds=2 | grep 'forgetful:rounds=2'
expect_hint() {
  local hint=$1 said
  shift
  if said=$("$bin/lacuna" "$@" 2>&1) || [[ $said != *"$hint"* ]]; then
    printf 'lacuna %s is not refused with the hint %s: %s\n' "$*" "$hint" "$said"
    exit 1
  fi
}
expect_hint 'did you mean rounds?' explain allreduce --method forgetful:round=1
expect_hint 'must be 0 .. 64' explain allreduce --method forgetful:rounds=65
expect_hint 'did you mean forgetful?' explain allreduce --method forgetfull
"$bin/lacuna" launch -n 3 "$bin/lacuna" perf allreduce -b 4 -e 1M -f 64 -n 2 --method forgetful:rounds=1,weight=2 |
  grep 'Out of bounds values : 0 OK'
# Runs `forgetful` with kernels, lengths that two ranks know, disjoint places for arriving messages, several parts in
# flight, and a part that follows.
"$bin/lacuna" list forgetful | grep 'forgetful:threshold=3'
"$bin/lacuna" explain allreduce --ranks 4 --method forgetful:threshold=1 | grep '> forgetful_sparse .* by data'
"$bin/lacuna" graph allreduce --ranks 4 --method forgetful:threshold=1 | grep 'kernel   select .*v0'
"$bin/lacuna" graph allreduce --ranks 4 --method forgetful:threshold=1 --follow 0 | grep '^15 steps'
"$bin/lacuna" launch -n 3 "$bin/lacuna" perf allreduce -b 4 -e 1M -f 64 -n 2 --method forgetful:threshold=0.5 |
  grep 'forgetful_sparse .* N/A'
expect_hint 'serves the method forgetful only' explain allreduce --algorithm forgetful_sparse
tests/algorithms/methods_are_unnamed.sh "$bin/lacuna"

# Lists its measures, one for each way in which they add up.
for row in 'rounds  *rounds  *sum  *plan' 'entries  *entries  *sum  *kernels' 'most  *entries  *largest  *kernels' \
  'magnitude  *magnitude  *last  *kernels' 'share  *ratio  *mean  *kernels'; do
  "$bin/lacuna" list forgetful | grep "^$row  "
done

# Without measures there is neither a table of them nor a column of a headline. The other tables and columns are there.
if "$bin/lacuna" list wordless | grep '^measure'; then exit 1; fi
"$bin/lacuna" list wordless | grep 'wordless:leaves=1'
"$bin/lacuna" explain allreduce --ranks 4 --method wordless:leaves=1 | grep '> wordless_ring  *5  *1 .* 16.7% '
"$bin/lacuna" launch -n 4 "$bin/lacuna" perf allreduce -b 64K -e 64K -n 2 --method wordless:leaves=1 |
  grep ' 1  *16.7  *3.00$'
# f16 in place of f32 saves half of the bytes, as predicted before the call and as counted in it.
"$bin/lacuna" explain allreduce --ranks 3 --method frugal:halves=1 | grep '> frugal_ring .* 50.0% '
"$bin/lacuna" launch -n 3 "$bin/lacuna" perf allreduce -b 64K -e 64K -n 2 --method frugal:halves=1 | tee frugal.txt |
  grep ' 0  *50.0  *3.00$'
grep 'Out of bounds values : 0 OK' frugal.txt

# Uses the method by text in C.
cc -std=c99 -Wall -Wextra -Werror -pedantic-errors -I. "$parts/forgetful.c" -o "$bin/forgetful" \
  build/release/bindings/c/liblacuna_c.so -Wl,-rpath,"$tree/build/release/bindings/c"
"$bin/lacuna" launch -n 2 "$bin/forgetful"
"$bin/lacuna" launch -n 3 "$bin/forgetful"

# Its header is installed, and a C++ program that includes it sees its struct and its measures.
cmake --install build/release --prefix build/installed >/dev/null
libraries=$(dirname "$(find "$tree/build/installed" -name liblacuna_core.so)")
read -ra flags <<<"$(PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config --cflags --libs lacuna)"
c++ -std=c++20 "$parts/forgetful.cpp" "${flags[@]}" -Wl,-rpath,"$libraries" -o "$bin/forgetful_cpp"
"$bin/lacuna" launch -n 3 "$bin/forgetful_cpp" | grep '^\[0\] rounds left out: 1$'

# In `lacuna run`, a run that is ended at its first checkpoint continues with the same bits as a run that is left alone.
runs=$tree/build/runs
run() {
  mkdir -p "$runs/$1"
  cd "$runs/$1"
  exec "$bin/lacuna" launch -n 3 -- "$bin/lacuna" run "$2"
}
evaluations() { grep 'fingerprint [0-9a-f]*$' "$runs/$1.log"; }
ended_at_first_checkpoint() {
  run "$@" >/dev/null 2>&1 &
  until compgen -G "$runs/$1/out/seed-1/forgetful/manifest-*.json" >/dev/null; do
    kill -0 "$!"
    sleep 0.01
  done
  kill "$!"
  if wait "$!"; then
    printf 'the run was over before it could be ended\n'
    exit 1
  fi
}
go_on_alike() {
  grep 'continues at step' "$runs/$2.log"
  diff <(evaluations "$1" | tail -n "$(evaluations "$2" | wc -l)") <(evaluations "$2")
}

rm -rf "$runs"
mkdir "$runs"
(LACUNA_METRICS=$runs/counters run alone "$parts/run.toml") >"$runs/alone.log"
ended_at_first_checkpoint ended "$parts/run.toml"
(run ended "$parts/run.toml") >"$runs/ended.log"
go_on_alike alone ended

# The same holds for its sparse program, whose state holds most of its input.
sed 's/^rounds = 1$/threshold = 0.002/; s/^weight.*//; s/^remembers.*//; s/^recalls.*//' "$parts/run.toml" >"$runs/sparse.toml"
(run sparse_alone "$runs/sparse.toml") >"$runs/sparse_alone.log"
ended_at_first_checkpoint sparse_ended "$runs/sparse.toml"
(run sparse_ended "$runs/sparse.toml") >"$runs/sparse_ended.log"
go_on_alike sparse_alone sparse_ended
for name in entries most magnitude share; do
  grep -aq "forgetful\\.$name" "$runs/sparse_ended/out/throwaway.h5"
done
# The largest and the last value are those of the run that was left alone.
told_of() { grep -aoE '"name":"forgetful\.(most|magnitude)","times":[0-9]+,"value":[^}]*' "$1"; }
diff <(told_of "$runs/sparse_alone/out/seed-1/forgetful/ckpt-600-rank0.h5") <(told_of "$runs/sparse_ended/out/seed-1/forgetful/ckpt-600-rank0.h5")

# Results, records and counters have what it left out: a round of each of two layers in 515 of 600 steps.
grep -aq 'forgetful\.rounds' "$runs/ended/out/throwaway.h5"
for name in alone ended; do
  grep -aqF '{"name":"forgetful.rounds","times":1,"value":1030.0}' "$runs/$name/out/seed-1/forgetful/ckpt-600-rank0.h5"
done
grep -q '"methods": {"forgetful": {"calls": 1030.*"rounds": {"value": 1030, "unit": "rounds", "adds_up": "sum"' "$runs/counters/rank-0.json"
sed 's/^rounds/round/' "$parts/run.toml" >"$runs/mistaken.toml"
expect_hint "did you mean 'rounds'?" run "$runs/mistaken.toml"
