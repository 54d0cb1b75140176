#!/usr/bin/env bash
# Runs on a machine with one CUDA device all that only a device can show: the calls and kernels on it, their rates, and
# PyTorch's tensors there. It takes twelve minutes at most, and leaves out what does not fit.
# Usage: tests/cuda/session.sh [--mock] BUILD RESULTS
# BUILD is a build tree of the preset release with its tests and liblacuna_cuda.so, or what tests/cuda/pack.sh has made
# of one. The folder RESULTS gets results.json, from which results.py makes the tables of docs/performance.md, and the
# output of each stage. --mock plays all that on a mock device, with small arrays.
set -euo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
mock=no
[[ ${1:-} != --mock ]] || { mock=yes && shift; }
(($# == 2)) || { printf 'usage: tests/cuda/session.sh [--mock] BUILD RESULTS\n' >&2 && exit 2; }
build=$(realpath "$1")
bin=$build/bin
[[ -x $bin/lacuna ]] || { printf '%s is neither a build tree nor a pack: it has no bin/lacuna\n' "$1" >&2 && exit 2; }
mkdir -p "$2"
results=$(realpath "$2")

budget=720  # seconds
failed=0
export LACUNA_DEADLINE=60 LD_LIBRARY_PATH=$build/system${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
elements=$((64 << 20)) largest=100M
if [[ $mock == yes ]]; then
  export LD_PRELOAD=$build/tests/cuda/mock/liblacuna_core.so.0 TEST_MOCK_KERNELS=1
  elements=$((64 << 10)) largest=256K
else
  export TEST_DEVICE=$build/tests/cuda/libcuda_test_device.so
fi

# stage NAME LIMIT COMMAND...: runs a command for LIMIT seconds at most. An exit status of 77 means that this machine
# cannot do it; the last line of its output says why.
stage() {
  local name=$1 limit=$2 start=$SECONDS status=0 result
  shift 2
  ((limit <= budget - SECONDS)) || limit=$((budget - SECONDS))
  if ((limit <= 0)); then
    printf 'no time is left\n' >"$results/$name.log" && status=77
  else
    timeout --kill-after 5 "$limit" bash -euo pipefail -c '"$@"' stage "$@" >"$results/$name.log" 2>&1 || status=$?
  fi
  case $status in
    0) result=ok ;;
    77) result=skipped ;;
    124 | 137) result=late ;;
    *) result=failed ;;
  esac
  [[ $result == ok || $result == skipped ]] || failed=1
  printf '%s,%s,%d\n' "$name" "$result" $((SECONDS - start)) >>"$results/stages.csv"
  printf '%-18s %-8s %4d s  %s\n' "$name" "$result" $((SECONDS - start)) "$(tail -n 1 "$results/$name.log")"
}

skip() {
  printf '%s\n' "$*"
  exit 77
}

needs_device() {
  [[ $mock == no ]] || skip "the mock device is none of CUDA's"
}

info() {
  local said
  said=$("$bin/lacuna" info)
  printf '%s\n' "$said"
  [[ $said == *'(device 0)'* ]]
}

# Makes each call with data on the host and on the device, and compares the bits.
ranks() { "$bin/lacuna" launch -n "$1" -- "$bin/cuda_device_ranks"; }

# The tests of kernels hand the kernels memory of the heap, which must be pinned for a device.
kernels() {
  local pinned=$build/tests/cuda/libpinned_memory.so
  [[ $mock == yes ]] || export LD_PRELOAD=$pinned
  local filter=
  [[ $mock == no ]] || filter='*Merge*'  # other tests run all of them on the mock device
  "$bin/kernels_tests" --gtest_brief=1 \
    --gtest_filter="$filter-*/host:*/x86_64*:*/kokkos:Allocations*:Backends*:Processor*"
}

algorithms() {
  local filter='*ComputeOnADevice*:PairwiseOnDevices.*'
  [[ $mock == no ]] || filter='*ComputeOnADevice*/topk'
  "$bin/algorithms_tests" --gtest_brief=1 --gtest_filter="$filter"
}

stream_holds() {
  needs_device
  LACUNA_PROGRESS=thread "$bin/lacuna" launch -n 2 -- "$bin/cuda_stream_holds"
}

rates() { "$bin/device_bench" "$elements" "$results/rates.csv"; }

# PyTorch's nearest functions to our kernels.
peers() {
  needs_device
  needs_torch
  python3 "$here/../perf/device_peer.py" "$results/peers.csv"
}

needs_torch() {
  python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null ||
    skip 'python3 has no PyTorch that sees a CUDA device'
}

# Allreduce calls of two processes, without a method and with one.
calls() {
  local place chunk
  for place in cuda host; do
    for chunk in 256K 4M; do
      LACUNA_CHUNK=$chunk perf "$place-$chunk" --device "$place"
    done
    perf "$place-topk" --device "$place" --method topk:density=0.01
  done
}
perf() {
  local name=$1
  shift
  "$bin/lacuna" launch -n 2 -- "$bin/lacuna" perf allreduce -b "$largest" -e "$largest" -n 10 \
    --json "$results/perf-$name.json" "$@"
}

# The same calls over the UCX of PyPI, which knows CUDA.
newer_ucx() {
  local folder=$build/ucx-1.22/lib
  [[ -e $folder/libucp.so.0 ]] || skip "there is no $folder"
  export LD_LIBRARY_PATH=$folder:$LD_LIBRARY_PATH
  "$bin/lacuna" info | grep 'UCX.*1\.22'
  ranks 2
}

# Gradients and tensors on the device, with the wheel that pack.sh has made for this machine's Python.
pytorch() {
  needs_device
  needs_torch
  local site
  compgen -G "$build/wheel/lacuna-*.whl" >/dev/null || skip "there is no wheel in $build/wheel"
  site=$(mktemp -d)
  trap 'rm -rf "$site"' EXIT
  python3 -m pip install --quiet --no-index --no-deps --target "$site" "$build"/wheel/lacuna-*.whl
  cp "$build/liblacuna_cuda.so" "$site/lacuna/lib/"
  export PYTHONPATH=$site
  cd "$here/../pytorch/ranks"
  "$bin/lacuna" launch -n 2 -- python3 -m pytest -q -p no:cacheprovider test_cuda.py
}

export mock build bin here results elements largest
mapfile -t functions < <(compgen -A function)
export -f "${functions[@]}"  # each stage is a shell of its own, so that it can be ended
rm -f "$results"/*.{csv,json,log}
stage info 30 info
stage two_ranks 60 ranks 2
stage four_ranks 60 ranks 4
stage kernels 120 kernels
stage algorithms 240 algorithms
stage stream_holds 60 stream_holds
stage rates 90 rates
stage peers 60 peers
stage calls 120 calls
stage newer_ucx 60 newer_ucx
stage pytorch 120 pytorch
python3 "$here/results.py" join "$results" >"$results/results.json"
printf 'results: %s/results.json\n' "$results"
exit "$failed"
