#!/usr/bin/env bash
# What is compiled for an instruction set and linked into a program defines one function. It defines none that the
# linker could take for that of a file which is compiled for all processors. Arguments: such object files.
set -euo pipefail
for object in "$@"; do
  defined=$(nm --defined-only "$object" | grep -v ' [a-tv-z] ' || true)
  if [[ $(wc -l <<<"$defined") != 1 || $defined != *' T '*multiply_* ]]; then
    printf '%s defines:\n%s\n' "$object" "$defined"
    exit 1
  fi
done
