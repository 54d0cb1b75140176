#!/usr/bin/env bash
# Installs a build into a temporary folder, moves it, and builds and runs the consumer projects against it.
# Usage: tests/consumer/run.sh BUILD_FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$1" --prefix "$work/first"
mv "$work/first" "$work/lacuna"
libraries=$(dirname "$(find "$work/lacuna" -name liblacuna_core.so)")

configure_and_build() {
  local project=$1
  shift
  cmake -S "$here/$project" -B "$work/$project" -G Ninja --no-warn-unused-cli -DCMAKE_PREFIX_PATH="$work/lacuna" "$@"
  cmake --build "$work/$project"
}

printf '== by CMake, with the packages of what is private to lacuna out of reach\n'
configure_and_build plain -DCMAKE_DISABLE_FIND_PACKAGE_{ucx,Kokkos,fmt,OpenSSL,HDF5,nlohmann_json}=ON
for program in allreduce skip own_kernel version checkpoint; do
  "$work/plain/$program"
done

printf '== with files of its own that have the names of lacuna'"'"'s\n'
configure_and_build same_names
"$work/same_names/same_names"

printf '== by pkg-config\n'
export PKG_CONFIG_PATH=$libraries/pkgconfig
read -ra flags <<<"$(pkg-config --cflags --libs lacuna)"
c++ -std=c++20 "$here/plain/main.cpp" "${flags[@]}" -o "$work/by_pkg_config"
c++ -std=c++20 "$here/plain/skip.cpp" "${flags[@]}" -o "$work/skip_by_pkg_config"
read -ra flags <<<"$(pkg-config --cflags --libs lacuna-c)"
cc "$here/plain/version.c" "${flags[@]}" -o "$work/c_by_pkg_config"
read -ra flags <<<"$(pkg-config --cflags --libs lacuna-checkpoint)"
c++ -std=c++20 "$here/plain/checkpoint.cpp" "${flags[@]}" -o "$work/checkpoint_by_pkg_config"
for program in by_pkg_config skip_by_pkg_config c_by_pkg_config checkpoint_by_pkg_config; do
  LD_LIBRARY_PATH=$libraries "$work/$program"
done

printf '== a method as a plugin\n'
cmake -S "$here/../../examples/own_method" -B "$work/own_method" -G Ninja -DCMAKE_PREFIX_PATH="$work/lacuna"
cmake --build "$work/own_method"
export LACUNA_PLUGINS=$work/own_method/short_ring.so
command=$work/lacuna/bin/lacuna
"$command" list short_ring | grep 'rounds of the reduce-scatter that are left out'
"$command" explain allreduce --ranks 4 --method short_ring:rounds=1 | grep '> short_ring:\?.* 5 '
"$command" launch -n 3 -- "$command" perf allreduce -b 4 -e 64K -f 64 -n 2 --method short_ring:rounds=1 |
  grep 'Out of bounds values : 0 OK'
unset LACUNA_PLUGINS

printf '== the tests of all methods, for this one\n'
ctest --test-dir "$work/own_method" --output-on-failure
# They find a plan that leaves out the last elements.
cp -r "$here/../../examples/own_method" "$work/faulty"
sed -i 's|.data = {0, request.call.count}|.data = {0, request.call.count - request.call.count / 100}|' \
  "$work/faulty/short_ring.cpp"
if cmp -s "$work/faulty/short_ring.cpp" "$here/../../examples/own_method/short_ring.cpp"; then
  echo 'the fault is not planted'
  exit 1
fi
cmake -S "$work/faulty" -B "$work/faulty/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/lacuna"
cmake --build "$work/faulty/build"
if "$work/faulty/build/short_ring_test" >"$work/said"; then
  echo 'nobody notices that the last elements are left out'
  exit 1
fi
grep 'FAILED.*Methods.WriteEveryElement/short_ring' "$work/said"

for mpi in openmpi mpich; do
  printf '== beside MPI: %s\n' "$mpi"
  start=(mpiexec.mpich -n 3)
  if [[ $mpi == openmpi ]]; then start=(mpirun.openmpi --allow-run-as-root --oversubscribe -n 3); fi
  rm -rf "$work/mpi"
  configure_and_build mpi "-DMPI_C_COMPILER=mpicc.$mpi" "-DMPI_CXX_COMPILER=mpicxx.$mpi"
  for program in by_cpp by_c; do
    "${start[@]}" "$work/mpi/$program"
  done
done

if [[ -e $libraries/pkgconfig/lacuna-fortran.pc ]]; then
  (unset LD_LIBRARY_PATH && "$here/fortran.sh" "$work/lacuna" "$work")
fi

printf '== where main has initialised Kokkos\n'
configure_and_build kokkos
"$work/kokkos/own_kokkos"
if [[ -e $libraries/liblacuna_kokkos.so ]]; then
  printf '== and lacuna computes by it too\n'
  LACUNA_KERNELS=kokkos "$work/kokkos/own_kokkos"
  LACUNA_KERNELS=kokkos "$work/lacuna/bin/lacuna" info | grep '^kernels: *kokkos '
fi

printf '== views of Kokkos as buffers\n'
cmake -S "$here/../../examples/kokkos" -B "$work/views" -G Ninja -DCMAKE_PREFIX_PATH="$work/lacuna"
cmake --build "$work/views"
"$command" launch -n 3 -- "$work/views/heat" 64 200 | tee "$work/said"
grep '3 ranks, views in Host: ' "$work/said"

printf '== the installed command\n'
"$work/lacuna/bin/lacuna" info
