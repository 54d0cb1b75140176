#!/usr/bin/env bash
# A library of kernels that is compiled for an instruction set offers one function, and takes nothing but what the C and
# C++ libraries offer under versions of their own: no function that was compiled for one processor serves code for another.
# Arguments: such libraries.
set -euo pipefail

fail() {
  printf '%s\n' "$@"
  exit 1
}

for library in "$@"; do
  offered=$(nm -D --defined-only "$library" | cut -d' ' -f3-)
  [[ $offered == lacuna_kernels ]] || fail "$library offers:" "$offered"
  if found=$(nm "$library" | grep ' u '); then
    fail "$library has symbols that are one for the whole process:" "$found"
  fi
  if found=$(nm -D --undefined-only "$library" | grep -vE ' w |@(GLIBC|GLIBCXX|CXXABI)_[0-9.]+$'); then
    fail "$library takes from others:" "$found"
  fi
done
