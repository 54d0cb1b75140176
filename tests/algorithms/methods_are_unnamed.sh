#!/usr/bin/env bash
# No file below or above algorithms/ knows a method by its name, except its own typed C interface, lacuna_METHOD.h and
# lacuna_METHOD.cpp. Argument: the `lacuna` command, which lists the methods.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

methods=$("$1" list | sed '1,/^method /d' | awk '{print $1}')
[[ -n $methods ]] || { echo "lacuna list names no method"; exit 1; }
for method in $methods; do
  folders=(runtime transports bindings kernels)
  [[ $method == sketch ]] && folders=(runtime transports bindings)  # kernels know the sketch, a kind of table
  if grep -rniE "$method" "${folders[@]}" --exclude="lacuna_$method".{h,cpp}; then
    echo "these lines know the method $method by name"
    exit 1
  fi
done
