#!/usr/bin/env bash
# Builds and tests everything: set-up, release, the newer UCX, sanitizers, consumers of the installed tree, the lab.
# tests/run.sh --quick: release only. A stage's output is in build/logs/ and is shown when the stage fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
# What the sanitizers look at: the core and the algorithms, without a network below.
sanitized=(runtime transports algorithms kernels)

stage() {
  local name=$1 log start=$SECONDS
  shift
  log=build/logs/${name// /-}.log
  printf '%-20s' "$name"
  if "$@" >"$log" 2>&1; then
    printf ' ok      %4d s\n' $((SECONDS - start))
  else
    printf ' FAILED  %4d s\n' $((SECONDS - start))
    tail -n 200 "$log"
    printf '%s has failed; all of its output is in %s\n' "$name" "$log"
    exit 1
  fi
}

build() {
  local preset=$1
  shift
  cmake --preset "$preset" -DLACUNA_TESTS=ON -DLACUNA_WERROR=ON &&
    cmake --build --preset "$preset" --parallel "$jobs" "$@"
}

run_release() { ctest --preset release --parallel "$jobs"; }

# The tests over UCX once more, with the libraries of PyPI's wheel in place of the system's.
run_newer_ucx() (
  export LD_LIBRARY_PATH=$PWD/build/ucx-1.22/libucx/lib
  build/release/bin/lacuna info | grep 'UCX.*1\.22' && ctest --preset release -L ucx
)

build_sanitized() { build "$1" --target "${sanitized[@]/%/_tests}"; }

run_sanitized() {
  local pattern
  pattern=$(IFS='|' && printf '^(%s)$' "${sanitized[*]}")
  ctest --preset "$1" --parallel "$jobs" -R "$pattern"
}

# Three rounds of two calls, in each of which a rank sends 3/2 of its 4 MiB; then all algorithms, with one and with two ranks on a host.
run_lab() {
  tests/lab/lab_test.py &&
    tests/lab/lab.py --hosts 4 --rate 1gbit --expect-bytes $((3 * 2 * 6 << 20)) -- \
      build/release/bin/lacuna perf allreduce -b 4M -e 4M -w 1 -n 3 &&
    tests/lab/lab.py --hosts 4 --rate 1gbit -- tests/lab/conformance.sh build/release/bin/lacuna &&
    tests/lab/lab.py --hosts 2 --ranks-per-host 2 --rate 1gbit -- tests/lab/conformance.sh build/release/bin/lacuna
}

quick=no
case ${1:-} in
  --quick) quick=yes ;;
  '') ;;
  *) printf 'tests/run.sh: unknown option %s; allowed: --quick\n' "$1" >&2 && exit 2 ;;
esac

mkdir -p build/logs
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1  # a copy of the tree compiles the same
stage 'set-up' cmake/setup.sh build tests
stage 'release build' build release
stage 'release tests' run_release
if [[ $quick == no ]]; then
  stage 'UCX 1.22' run_newer_ucx
  for sanitizer in asan tsan; do
    stage "$sanitizer build" build_sanitized "$sanitizer"
    stage "$sanitizer tests" run_sanitized "$sanitizer"
  done
  stage 'one more algorithm' tests/algorithms/throwaway.sh
  stage 'consumers' tests/consumer/run.sh build/release
  stage 'lab' run_lab
fi
printf 'all stages passed in %d s\n' "$SECONDS"
