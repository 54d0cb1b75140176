#!/usr/bin/env bash
# Packs what tests/cuda/session.sh needs on a machine with a CUDA device and nothing else: programs, libraries, those of
# the system that they load, the UCX of PyPI, and the wheel for that machine's Python.
# Usage: tests/cuda/pack.sh KOKKOS PACK [PYTHON]
# KOKKOS is the folder of a Kokkos with CUDA (CONTRIBUTING.md says how it is built); with - the device's kernels are left
# out, which is enough for session.sh --mock. PACK is a new folder. PYTHON is a Python of the version that the machine
# has, for instance python3.12; without it there is no wheel. Further options for CMake come from CMAKE_OPTIONS.
set -euo pipefail
(($# == 2 || $# == 3)) || { printf 'usage: tests/cuda/pack.sh KOKKOS PACK [PYTHON]\n' >&2 && exit 2; }
[[ ! -e $2 ]] || { printf '%s is there already\n' "$2" >&2 && exit 2; }
kokkos=$1 pack=$(realpath -m "$2") python=${3:-}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[[ $kokkos == - ]] || kokkos=$(realpath "$kokkos")
read -ra options <<<"${CMAKE_OPTIONS:-}"
jobs=$(nproc)
programs=(lacuna algorithms_tests kernels_tests cuda_device_ranks device_bench)

cmake/setup.sh build tests
cmake --preset release -DLACUNA_TESTS=ON
cmake --build --preset release --parallel "$jobs" --target "${programs[@]}" lacuna_mock_cuda
for target in cuda_stream_holds cuda_test_device pinned_memory; do  # where there is the CUDA toolkit
  cmake --build --preset release --parallel "$jobs" --target "$target" || [[ $kokkos == - ]]
done
if [[ $kokkos != - ]]; then
  cmake -B build/cuda -G Ninja -DCMAKE_BUILD_TYPE=Release -DLACUNA_TESTS=OFF -DLACUNA_CUDA=ON -DKokkos_ROOT="$kokkos" \
    "${options[@]}"
  cmake --build build/cuda --parallel "$jobs" --target lacuna_cuda
fi

# The places are those of the build tree, where programs find libraries beside them. Links become files.
mkdir -p "$pack/system" "$pack/tests/cuda/mock"
cd build/release
keep() { [[ ! -e $1 ]] || install -D --strip "$1" "$pack/$1"; }
for program in "${programs[@]}" cuda_stream_holds; do keep "bin/$program"; done
for library in liblacuna_*.so liblacuna_core.so.0 bindings/*/liblacuna_*.so.0 tests/conformance/*.so.0 \
  tests/cuda/lib*.so tests/cuda/mock/liblacuna_cuda.so; do
  keep "$library"
done
ln -sf ../../../liblacuna_core.so.0 "$pack/tests/cuda/mock/liblacuna_core.so.0"
cd ../..
[[ $kokkos == - ]] || install --strip build/cuda/liblacuna_cuda.so "$pack/"

# The libraries of the system, without those that every system has.
find "$pack" -type f -exec ldd {} + | awk '$2 == "=>" && $3 ~ "^/" && $3 !~ "'"$pack"'" {print $3}' | sort -u |
  grep -vE '/(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so\.|ld-linux)' | while read -r library; do
  install --strip "$library" "$pack/system/${library##*/}"
done
ucx=$(dirname "$(ldconfig -p | awk '/libucs\.so\.0/ {print $NF; exit}')")
[[ ! -d $ucx/ucx ]] || cp -rL "$ucx/ucx" "$pack/system/"
mkdir -p "$pack/ucx-1.22"
cp -rL build/ucx-1.22/libucx/lib "$pack/ucx-1.22/"
find "$pack/ucx-1.22" "$pack/system/ucx" -name '*.so*' -type f -exec strip --strip-unneeded {} + 2>/dev/null || true

if [[ -n $python ]]; then
  tests/python/wheel.sh "$python"
  mkdir "$pack/wheel"
  cp build/wheel/lacuna-*.whl "$pack/wheel/"
fi
du -sh "$pack"
