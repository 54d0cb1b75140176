#!/usr/bin/env bash
# No file below or above algorithms/ knows a method by its name, but for its own typed header. Argument: the `lacuna`
# command, which knows the methods.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

methods=$("$1" list | sed '1,/^method /d' | awk '{print $1}')
[[ -n $methods ]] || { echo "lacuna list names no method"; exit 1; }
for method in $methods; do
  if grep -rniE "$method" runtime transports kernels bindings --exclude="lacuna_$method.h"; then
    echo "these lines know the method $method by name"
    exit 1
  fi
done
