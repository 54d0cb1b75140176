#!/usr/bin/env bash
# Every installed header compiles alone, with nothing but the installed headers in its reach, and includes nothing of
# the libraries that stay private. Arguments: the C++ compiler and the C compiler.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cxx=$1 cc=$2
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

headers=()
while read -r folder files; do
  for file in $files; do
    mkdir -p "$tree/$folder"
    cp "$root/$folder/$file" "$tree/$folder/"
    headers+=("$folder/$file")
  done
done < <(sed -n 's/^lacuna_install_headers(\(.*\))$/\1/p' "$root/cmake/install.cmake")
((${#headers[@]} >= 8)) || { echo "only ${#headers[@]} headers found in cmake/install.cmake"; exit 1; }

cd "$tree"  # -include looks into the working directory first
failed=0
compile() {
  local header=$1 dependencies
  shift
  if ! dependencies=$("$@" -Wall -Wextra -Werror -fsyntax-only -I . -MD -MF /dev/stdout \
                           -include "$header" /dev/null); then
    echo "$header does not compile alone"
    failed=1
  elif grep -E '/(ucp|ucs|uct|fmt|hdf5|openssl|nlohmann|toml\+\+)/|/Kokkos' <<<"$dependencies"; then
    echo "$header includes what should stay private"
    failed=1
  fi
}

for header in "${headers[@]}"; do
  compile "$header" "$cxx" -std=c++20 -pedantic -x c++
  [[ $header == *.h ]] || continue
  for standard in c99 c11; do compile "$header" "$cc" -std=$standard -pedantic-errors -x c; done
  for standard in c++11 c++20; do compile "$header" "$cxx" -std=$standard -pedantic-errors -x c++; done
done
((failed == 0)) && echo "${#headers[@]} headers compile alone"
exit "$failed"
