#!/usr/bin/env bash
# All that lacuna.h and lacuna_skip.h declare is documented, and Doxygen understands it. Argument: the doxygen program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
doxygen=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Prints what Doxygen has to say about the headers of a folder.
warnings_of() {
  printf '%s\n' '@INCLUDE = docs/Doxyfile' "INPUT = $1/lacuna.h $1/lacuna_skip.h" "OUTPUT_DIRECTORY = $out" 'EXTRACT_ALL = NO' 'WARNINGS = YES' \
    'WARN_IF_UNDOCUMENTED = YES' 'WARN_AS_ERROR = FAIL_ON_WARNINGS' | "$doxygen" - 2>&1
}

if ! warnings_of bindings/c; then
  echo 'lacuna.h or lacuna_skip.h is not documented as it should be'
  exit 1
fi

# Doxygen does not check enumerators.
if grep -nE '^ +LACUNA_[A-Z0-9_]+ = [0-9]+' bindings/c/lacuna*.h | grep -v '/\*\*<'; then
  echo 'these enumerators are not documented'
  exit 1
fi

# The check finds a member and a function without their comments.
mkdir "$out/lacking"
check_lack() {
  cp bindings/c/lacuna*.h "$out/lacking/"
  sed "$2" "bindings/c/$1" >"$out/lacking/$1"
  if cmp -s "bindings/c/$1" "$out/lacking/$1" || warnings_of "$out/lacking"; then
    echo "no warning after $2"
    exit 1
  fi
}
check_lack lacuna.h '/int32_t prepare;/s|/\*\*<.*\*/||'
check_lack lacuna.h '\|^/\*\* Ends after all ranks have called it|d'
check_lack lacuna_skip.h '/double share;/s|/\*\*<.*\*/||'
