#!/usr/bin/env bash
# Compiles a Fortran program with Open MPI and the module of a build tree, and runs it by mpirun. A program without MPI
# finds its job there too. Usage: mpi_test.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail
source=$1
build=$2
for tool in mpicc.openmpi mpif90.openmpi mpirun.openmpi; do
  command -v $tool >/dev/null || { echo "this system has no $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
run() { mpirun.openmpi --allow-run-as-root --oversubscribe -n "$@"; }

libraries="$build/bindings/fortran/liblacuna_fortran.a -L$build/bindings/c -Wl,-rpath,$build/bindings/c:$build -llacuna_c"
mpicc.openmpi -c "$source/bindings/fortran/join_mpi.c" -I"$build/include"
for program in "$source/tests/consumer/fortran/beside_mpi.f90" "$source/tests/fortran/beside_old_mpi.f90"; do
  # shellcheck disable=SC2086
  mpif90.openmpi "$program" join_mpi.o -I"$build/bindings/fortran/modules" $libraries -o program
  for ranks in 1 2 4; do
    run $ranks ./program | tee said
    [[ $(grep -c 'the sums are those of MPI' said) == "$ranks" ]]
  done
done
run 3 "$build/bin/fortran_collectives_test"
