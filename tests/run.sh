#!/usr/bin/env bash
# Builds and tests everything: set-up, release, the newer UCX, sanitizers, consumers of the installed tree, the package,
# the wheel for Python, lacuna.torch, the lab, and the kernels for aarch64. tests/run.sh --quick builds and tests the
# release preset only. The output of a stage goes to build/logs/ and is shown if the stage fails. At the end a table has
# all stages and their times.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
# The sanitizers run over these: the core, the algorithms, and the kernels as loops and by Kokkos. None needs a network.
asan=(runtime transports algorithms kernels kernels_kokkos)
tsan=(runtime transports algorithms kernels kernels_kokkos)
table=build/logs/table
failures=build/logs/failures  # the first lines of what has failed; shown last, where a reader looks first

print_table() {
  printf '\n| stage | result | seconds |\n| --- | --- | ---: |\n'
  cat "$table"
  printf '| all | | %d |\n' "$SECONDS"
}

# A lane is a sequence of stages. Lanes run at the same time. When this script ends, it ends all lanes.
lanes=()
start_lane() {
  set -m  # then each lane is a process group, which can be ended as a whole
  "$@" &
  lanes+=($!)
  set +m
}
finish() {
  local lane
  for lane in "${lanes[@]}"; do kill -- "-$lane" 2>/dev/null || true; done
  print_table
  cat "$failures"
}

# Prints the names of the failed tests of a log and its first failed checks or errors; the end of the log if it has
# neither. Errors that lacuna itself prints are no faults: many tests expect them.
first_failures() {
  grep -E '^\[  FAILED  \] .* \([0-9]+ ms\)$' "$1" | cut -c 1-160 | head -n 20 || true
  grep -m 3 -A 6 -E ': Failure$|: (runtime )?error: |: ERROR: |==ERROR: |WARNING: ThreadSanitizer' "$1" | cut -c 1-160 ||
    tail -n 8 "$1"
}

# Runs a stage. An exit status of 77 means that this machine cannot do it; the last line of its output says why.
stage() {
  local name=$1 log start=$SECONDS status=0 result
  shift
  log=build/logs/${name// /-}.log
  "$@" >"$log" 2>&1 || status=$?
  case $status in
    0) result=ok ;;
    77) result=skipped ;;
    *) result=FAILED ;;
  esac
  printf '%-20s %-7s %4d s\n' "$name" "$result" $((SECONDS - start))
  printf '| %s | %s | %d |\n' "$name" "$result" $((SECONDS - start)) >>"$table"
  [[ $result != skipped ]] || tail -n 1 "$log"
  [[ $result == FAILED ]] || return 0
  tail -n 200 "$log"
  printf '%s has failed; all of its output is in %s\n' "$name" "$log"
  first_failures "$log" >>"$failures"
  return 1
}

build() {
  local preset=$1
  shift
  cmake --preset "$preset" -DLACUNA_TESTS=ON -DLACUNA_WERROR=ON -DLACUNA_KOKKOS=ON &&
    cmake --build --preset "$preset" --parallel "$jobs" "$@"
}

# Runs one test more at a time than there are processors, because many tests wait for deadlines or for processes to end.
run_tests() { ctest --parallel $((jobs + 1)) --preset "$@"; }

# Runs the tests over UCX once more, with the libraries of PyPI's wheel in place of the system's.
run_newer_ucx() (
  export LD_LIBRARY_PATH=$PWD/build/ucx-1.22/libucx/lib
  build/release/bin/lacuna info | grep 'UCX.*1\.22' && run_tests release -L ucx
)

build_sanitized() {
  local preset=$1
  shift
  build "$preset" --target "${@/%/_tests}"
}

run_sanitized() {
  local preset=$1 pattern
  shift
  pattern=$(IFS='|' && printf '^(%s)(\\.|$)' "$*")
  run_tests "$preset" -R "$pattern"
}

# Builds the kernels, their tests and the command for another architecture. An emulator runs the tests.
run_aarch64() {
  cmake/setup.sh aarch64 &&
    cmake --preset aarch64 -DLACUNA_TESTS=ON -DLACUNA_WERROR=ON &&
    cmake --build --preset aarch64 --parallel "$jobs" &&
    run_tests aarch64
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

quick=no
case ${1:-} in
  --quick) quick=yes ;;
  '') ;;
  *) printf 'tests/run.sh: unknown option %s; allowed: --quick\n' "$1" >&2 && exit 2 ;;
esac

# Uses the processor time that the tests of the release build leave, because these wait more than they compute.
other_builds() {
  renice -n 10 "$BASHPID" >/dev/null
  stage 'asan build' build_sanitized asan "${asan[@]}" && stage 'tsan build' build_sanitized tsan "${tsan[@]}" &&
    stage 'aarch64' run_aarch64
}

mkdir -p build/logs
: >"$table"
: >"$failures"
trap finish EXIT
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1  # then copies of the tree share compiled files
stage 'set-up' cmake/setup.sh build tests
stage 'release build' build release
if [[ $quick == yes ]]; then
  stage 'release tests' run_tests release
  exit
fi
start_lane other_builds
stage 'release tests' run_tests release
stage 'one more algorithm' tests/algorithms/throwaway.sh
stage 'consumers' tests/consumer/run.sh build/release
stage 'package' tests/consumer/package.sh build/release
stage 'python' tests/python/wheel.sh
stage 'PyTorch' tests/pytorch/run.sh
stage 'lab' run_lab
while ((${#lanes[@]} > 0)); do
  wait "${lanes[0]}"
  lanes=("${lanes[@]:1}")
done
# In these tests deadlines count, and most compute all the time. So nothing else runs at the same time.
stage 'UCX 1.22' run_newer_ucx
stage 'asan tests' run_sanitized asan "${asan[@]}"
stage 'tsan tests' run_sanitized tsan "${tsan[@]}"
printf 'all stages have passed\n'
