#!/usr/bin/env bash
# Programs and libraries take the libraries of lacuna that they were built with, whatever LD_LIBRARY_PATH names: here, a
# folder whose libraries of these names can't be loaded. Arguments: the build folder, its `lacuna` command, and other
# programs and libraries of it.
set -euo pipefail
build=$(realpath "$1")
lacuna=$2
shift

fail() {
  printf '%s\n' "$@"
  exit 1
}

other=$(mktemp -d)
trap 'rm -rf "$other"' EXIT
while read -r library; do
  printf 'a library of another lacuna\n' >"$other/${library##*/}"
done < <(find "$build" -name 'liblacuna_*.so*')
[[ -e $other/liblacuna_core.so ]] || fail "$build holds no liblacuna_core.so"

for file in "$@"; do
  listed=$(LD_LIBRARY_PATH=$other ldd "$file" 2>&1) || fail "$file, with other libraries in LD_LIBRARY_PATH:" "$listed"
  needed=$(grep liblacuna_ <<<"$listed") || fail "$file needs no library of lacuna"
  while read -r name arrow found _; do
    [[ $arrow == '=>' && $(realpath "$found") == "$build"/* ]] || fail "$file takes $name from $found"
  done <<<"$needed"
done

# What the core loads: all kernels that can be had.
names=$("$lacuna" info | sed -n 's/^kernels to choose from: *\([^;]*\).*/\1/p')
[[ $names == host* ]] || fail "lacuna info names no kernels: $names"
for name in ${names//,/}; do
  own=$(LACUNA_KERNELS=$name "$lacuna" info | grep '^kernels: ')
  found=$(LD_LIBRARY_PATH=$other LACUNA_KERNELS=$name "$lacuna" info | grep '^kernels: ')
  [[ $found == "$own" && $found != *"no kernels"* ]] || fail "$name: with LD_LIBRARY_PATH $found, without $own"
done
