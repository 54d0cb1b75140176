#!/usr/bin/env bash
# Builds and runs Fortran programs against an installed tree, by CMake and by pkg-config, alone and beside MPI.
# Usage: tests/consumer/fortran.sh PREFIX WORK_FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=$1
work=$2
command -v gfortran >/dev/null || { echo 'this system has no gfortran'; exit 77; }
libraries=$(dirname "$(find "$prefix" -name liblacuna_core.so)")
sources=$prefix/include/lacuna/fortran
launch() { "$prefix/bin/lacuna" launch -n 3 -- "$@" | grep -c "$said" | grep -qx 3; }

build() {
  local folder=$work/$1
  shift
  cmake -S "$here/fortran" -B "$folder" -G Ninja --no-warn-unused-cli -DCMAKE_PREFIX_PATH="$prefix" "$@"
  cmake --build "$folder"
}

said='the maximum is 3'
printf '== Fortran by CMake, with the installed module files\n'
build fortran
[[ ! -e $work/fortran/lacuna_modules ]] || { echo 'the module was built again'; exit 1; }
launch "$work/fortran/plain"

printf '== Fortran by CMake, from the installed source\n'
build fortran_source -DLACUNA_FORTRAN_FROM_SOURCE=ON
[[ -e $work/fortran_source/lacuna_modules/lacuna.mod ]] || { echo 'the module was not built'; exit 1; }
launch "$work/fortran_source/plain"

printf '== a project without Fortran hears what the module needs\n'
mkdir -p "$work/without"
cat >"$work/without/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(without LANGUAGES C CXX)
find_package(lacuna 0.1 CONFIG REQUIRED COMPONENTS fortran)
END
if cmake -S "$work/without" -B "$work/without/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$work/said" 2>&1; then
  echo 'a project without Fortran gets the module'
  exit 1
fi
tr -s ' \n' ' ' <"$work/said" | grep 'needs a project with the languages C and Fortran'

printf '== Fortran by pkg-config\n'
export PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries
read -ra flags <<<"$(pkg-config --cflags --libs lacuna-fortran)"
gfortran "$here/fortran/plain.f90" "${flags[@]}" -o "$work/plain_by_pkg_config"
launch "$work/plain_by_pkg_config"

said='the sums are those of MPI'
beside() { mpirun.openmpi --allow-run-as-root --oversubscribe -n 3 "$1" | grep -c "$said" | grep -qx 3; }
printf '== Fortran beside Open MPI\n'
build fortran_mpi -DBESIDE_MPI=ON -DMPI_C_COMPILER=mpicc.openmpi -DMPI_Fortran_COMPILER=mpif90.openmpi
beside "$work/fortran_mpi/beside_mpi"

printf '== Fortran beside Open MPI by pkg-config\n'
read -ra c_flags <<<"$(pkg-config --cflags lacuna-c)"
mpicc.openmpi -c "$sources/join_mpi.c" "${c_flags[@]}" -o "$work/join_mpi.o"
mpif90.openmpi "$here/fortran/beside_mpi.f90" "$work/join_mpi.o" "${flags[@]}" -o "$work/beside_mpi_by_pkg_config"
beside "$work/beside_mpi_by_pkg_config"
