#!/usr/bin/env bash
# All that lacuna.h declares is documented, and Doxygen understands it. Argument: the doxygen program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
doxygen=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# What Doxygen has to say about one header.
warnings_of() {
  printf '%s\n' '@INCLUDE = docs/Doxyfile' "INPUT = $1" "OUTPUT_DIRECTORY = $out" 'EXTRACT_ALL = NO' 'WARNINGS = YES' \
    'WARN_IF_UNDOCUMENTED = YES' 'WARN_AS_ERROR = FAIL_ON_WARNINGS' | "$doxygen" - 2>&1
}

if ! warnings_of bindings/c/lacuna.h; then
  echo 'lacuna.h is not documented as it should be'
  exit 1
fi

# Doxygen passes over enumerators.
if grep -nE '^ +LACUNA_[A-Z0-9_]+ = [0-9]+' bindings/c/lacuna.h | grep -v '/\*\*<'; then
  echo 'these enumerators of lacuna.h are not documented'
  exit 1
fi

# A member and a function without their comments are found.
for without in '/int32_t prepare;/s|/\*\*<.*\*/||' '\|^/\*\* Returns, or ends, |d'; do
  sed "$without" bindings/c/lacuna.h >"$out/lacuna.h"
  if cmp -s bindings/c/lacuna.h "$out/lacuna.h" || warnings_of "$out/lacuna.h"; then
    echo "no warning after $without"
    exit 1
  fi
done
