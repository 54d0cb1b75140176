#!/usr/bin/env bash
# Every installed header compiles alone, with nothing but the installed headers in its reach. It includes nothing of the
# libraries that stay private, and no header of a method unless it belongs to that method. All headers lie in the folder
# `lacuna`, and include each other by it. tests/consumer compiles those that need an MPI or Kokkos. What the sources of
# the Fortran module include lies beside them, and is for them alone. Arguments: the build folder, the C++ compiler and
# the C compiler.
set -euo pipefail
build=$1 cxx=$2 cc=$3
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

cmake --install "$build" --prefix "$tree" >/dev/null
cd "$tree/include"  # -include looks into the working directory first
[[ $(ls) == lacuna ]] || { echo "beside the folder lacuna, these were installed: $(ls)"; exit 1; }
if grep -rn --exclude-dir=fortran '#include "' .; then
  echo 'these includes may find files of the program'
  exit 1
fi
mapfile -t headers < <(find lacuna -name '*.h*' ! -name 'lacuna_mpi.*' ! -name 'lacuna_kokkos.*' ! -path 'lacuna/fortran/*' | sort)
((${#headers[@]} >= 40)) || { echo "only ${#headers[@]} headers were installed"; exit 1; }
methods=$(find lacuna/algorithms -name options.def -printf '%h|' | sed 's/|$//')  # their folders
[[ $methods == *'|'* ]] || { echo "the headers of methods were not installed"; exit 1; }

failed=0
: >"$tree/nothing"
compiler_cache=$(command -v ccache || true)  # it serves compilations that make an object only
compile() {
  local header=$1 dependencies=$tree/dependencies
  shift
  if ! $compiler_cache "$@" -Wall -Wextra -Werror -I . -MD -MF "$dependencies" -include "$header" -c "$tree/nothing" \
    -o "$tree/object"; then
    echo "$header does not compile alone"
    failed=1
  elif grep -E '/(ucp|ucs|uct|fmt|hdf5|openssl|nlohmann|toml\+\+)/|/Kokkos' "$dependencies"; then
    echo "$header includes what should stay private"
    failed=1
  elif grep -oE "($methods)/[^ ]*" "$dependencies" | grep -v "^${header%/*}/"; then
    echo "$header includes this of a method"
    failed=1
  fi
}

for header in "${headers[@]}"; do
  compile "$header" "$cxx" -std=c++20 -pedantic-errors -x c++
  [[ $header == *.h ]] || continue
  for standard in c99 c11; do compile "$header" "$cc" -std=$standard -pedantic-errors -x c; done
  compile "$header" "$cxx" -std=c++11 -pedantic-errors -x c++
done
((failed == 0)) && echo "${#headers[@]} headers compile alone"
exit "$failed"
