#!/usr/bin/env bash
# No file below or above algorithms/ knows a method by its name, except its own typed interfaces, lacuna_METHOD.* and
# typed_METHOD.py, and lacuna.torch, which uses methods as a program does. A text such as topk:density=0.01 may show how
# methods are written. Argument: the `lacuna` command, which lists the methods.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# These names are also words that others need: collectives and kernels have blocks, kernels sketches, C++ casts.
words=(blocks sketch cast)

# What would show that a file knows the method: its name or, if that is also a word, its constant, its folder, and the
# names of its algorithms.
signs_of() {
  [[ " ${words[*]} " == *" $2 "* ]] || { printf '%s' "$2" && return; }
  local algorithms
  algorithms=$("$1" list "$2" | awk '$1 == "collective" { inside = 1; next } NF == 0 { inside = 0 } inside { print $3 }' |
    sort -u | paste -sd '|')
  printf '%s_method|algorithms/%s/|"(%s)"' "$2" "$2" "$algorithms"
}

methods=$("$1" list | sed '1,/^method /d; /^$/,$d' | awk '{print $1}')
[[ -n $methods ]] || { echo "lacuna list names no method"; exit 1; }
for method in $methods; do
  if grep -rnIiE "$(signs_of "$1" "$method")" runtime transports bindings kernels --exclude-dir=torch \
    --exclude={"lacuna_$method".{h,cpp,c,f90},"typed_$method.py"} | grep -vE "$method:density=0\.01|NAMELINK_"; then
    echo "these lines know the method $method by name"
    exit 1
  fi
done
