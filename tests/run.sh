#!/usr/bin/env bash
# Builds and tests. The output of a stage goes to build/logs/, and at the end a table has all stages and their times.
#
#   tests/run.sh           set-up, release, sanitizers, consumers of the installed tree, the package, the wheel for
#                          Python, lacuna.torch, and the lab: what each change must pass
#   tests/run.sh --quick   the release preset only
#   tests/run.sh --all     in addition what rarely finds a fault: the largest matrices of tests, the newer UCX, the
#                          commands of the manual that install, measure or train, aarch64, PyTorch's own tests, and a
#                          tenth of the planted faults in turn
#
# An entry that fails is run once more at the end, alone (tests/stages.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
logs=build/logs
# The sanitizers run over these: the core, the algorithms, and the kernels as loops and by Kokkos. None needs a network.
asan=(runtime transports algorithms kernels kernels_kokkos)
tsan=(runtime transports algorithms kernels kernels_kokkos)
source tests/stages.sh

configure() { cmake --preset "$1" -DLACUNA_TESTS=ON -DLACUNA_WERROR=ON "${@:2}"; }
build_release() { configure release -DLACUNA_KOKKOS=ON && cmake --build --preset release --parallel "$jobs"; }

# Runs one test more at a time than there are processors, because many tests wait for deadlines or for processes to end.
run_tests() { ctest --parallel $((jobs + 1)) --preset "$@"; }

# Runs the tests over UCX once more, with the libraries of PyPI's wheel in place of the system's.
run_newer_ucx() (
  export LD_LIBRARY_PATH=$PWD/build/ucx-1.22/libucx/lib
  build/release/bin/lacuna info | grep 'UCX.*1\.22' && run_tests release -L ucx "$@"
)

build_sanitized() {
  local preset=$1
  shift
  configure "$preset" && cmake --build --preset "$preset" --parallel "$jobs" --target "${@/%/_tests}"
}

# The names of the entries of these executables, as an expression.
entries_of() { (IFS='|' && printf '^(%s)(\\.|$)' "$*"); }

# Builds the kernels and their tests for another architecture. An emulator runs the tests.
run_aarch64() {
  cmake/setup.sh aarch64 && configure aarch64 && cmake --build --preset aarch64 --parallel "$jobs" && run_tests aarch64
}

# First three rounds of two calls are made; in each call a rank sends 3/2 of its 4 MiB. Then all algorithms run, with
# one rank on a host and with two.
run_lab() {
  tests/lab/lab_test.py &&
    tests/lab/cut_test.py build/release/bin/lacuna_worker &&
    tests/lab/launchers_test.py build/release/bin/lacuna &&
    tests/lab/lab.py --hosts 4 --rate 1gbit --expect-bytes $((3 * 2 * 6 << 20)) -- \
      build/release/bin/lacuna perf allreduce -b 4M -e 4M -w 1 -n 3 &&
    tests/lab/lab.py --hosts 4 --rate 1gbit -- tests/lab/conformance.sh build/release/bin/lacuna &&
    tests/lab/lab.py --hosts 2 --ranks-per-host 2 --rate 1gbit -- tests/lab/conformance.sh build/release/bin/lacuna
}

# Runs the commands of the manual that install something, as a user who has just got the tree.
run_fresh_checkout() {
  rm -rf build/pages && tests/support/copy_tree.sh build/pages && tests/docs/commands_test.py fresh build/pages
}

case ${1:-} in
  '' | --quick | --all) ;;
  *) printf 'tests/run.sh: unknown option %s; allowed: --quick, --all\n' "$1" >&2 && exit 2 ;;
esac
extent=${1:-}

# Uses the processor time that the tests of the release build leave, because these wait more than they compute.
other_builds() {
  renice -n 10 "$BASHPID" >/dev/null
  stage 'asan build' build_sanitized asan "${asan[@]}" && stage 'tsan build' build_sanitized tsan "${tsan[@]}"
}

begin_stages
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1  # then copies of the tree share compiled files
stage 'set-up' cmake/setup.sh build tests
stage 'release build' build_release
[[ $extent == --quick ]] || start_lane other_builds
try_entries 'release tests' run_tests release -LE long
if [[ $extent != --quick ]]; then
  try 'one more algorithm' tests/algorithms/throwaway.sh
  try 'consumers' tests/consumer/run.sh build/release
  try 'package' tests/consumer/package.sh build/release
  try 'python' tests/python/wheel.sh
  try 'PyTorch' tests/pytorch/run.sh
  try 'lab' run_lab
  wait_for_lanes
  # In these tests deadlines count, and most compute all the time. So nothing else runs at the same time.
  try_entries 'asan tests' run_tests asan -R "$(entries_of "${asan[@]}")"
  try_entries 'tsan tests' run_tests tsan -R "$(entries_of "${tsan[@]}")"
fi
if [[ $extent == --all ]]; then
  try_entries 'long tests' run_tests release -L long
  try 'fresh checkout' run_fresh_checkout
  try_entries 'UCX 1.22' run_newer_ucx
  try 'aarch64' run_aarch64
  try "PyTorch's own tests" tests/pytorch/run.sh --own
  try 'planted faults' tests/mutations/run.sh --tenth
fi
try_again
printf 'all stages have passed\n'
