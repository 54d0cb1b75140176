#!/usr/bin/env bash
# A compiler that errs under the flags that all is built with is refused by name, with what to do, when the tree is
# configured. Arguments: the tree, a C++ compiler.
set -euo pipefail
tree=$1 compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  printf '%s\n' "$@"
  exit 1
}

# Configures a tree by such flags of a release. Its output, without line breaks, is in $output.
configure() {
  local folder=$1 flags=$2
  rm -rf "$work/build"
  output=$(cmake -S "$folder" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS_RELEASE="$flags" -DLACUNA_ARCH= 2>&1 | tr -s ' \n' ' ')
}

# A project that is nothing but the check.
mkdir "$work/check"
printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(check CXX)' 'set(CMAKE_CXX_STANDARD 20)' \
  "include($tree/cmake/compiler_fits.cmake)" >"$work/check/CMakeLists.txt"

configure "$work/check" -O2 || fail 'A compiler that is right is refused:' "$output"

printf '#include <vector>\n#define nullptr reinterpret_cast<void (*)()>(1)\n' >"$work/wrong.hpp"
sed -i 's/#include <vector>/#include <csignal>\n#include <cstdint>\n#include <cstdlib>\n#include <optional>\n#include <string_view>\n&/' "$work/wrong.hpp"
for folder in "$work/check" "$tree"; do
  if configure "$folder" "-O2 -include $work/wrong.hpp"; then fail 'A null pointer that becomes 1 is not refused:' "$output"; fi
  [[ $output == *"compiles wrong code by the flags \"-O2 -include $work/wrong.hpp\""*'Leave LACUNA_ARCH empty'* ]] ||
    fail 'The refusal does not name the flags and what to do:' "$output"
done

printf '#include <csignal>\n#define signal(number, handler) signal(number, handler); __builtin_trap()\n' >"$work/trap.hpp"
configure "$work/check" "-O2 -include $work/trap.hpp" ||
  fail 'What this processor does not run is refused:' "$output"
[[ $output == *'This processor does not run what'* ]] || fail 'There is no warning of what this processor does not run:' "$output"

# Flags by which some versions of g++ err. The check must find what the program finds.
if flags='-O3 -march=x86-64-v4 -mtune=skylake-avx512' &&
  "$compiler" -std=c++20 $flags "$tree/cmake/compiler_fits.cpp" -o "$work/fits" 2>/dev/null; then
  code=0
  "$work/fits" || code=$?
  accepted=yes
  configure "$work/check" "$flags" || accepted=no
  [[ $code == 1 && $accepted == no || $code != 1 && $accepted == yes ]] ||
    fail "By $flags the program ends with $code, accepted: $accepted" "$output"
  printf 'by %s the program ends with %d\n' "$flags" "$code"
fi
