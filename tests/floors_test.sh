#!/usr/bin/env bash
# Includes point down only. The list below names the floors of the house, the lowest first, with the rooms of each. A
# file may include files of its own room and of rooms on lower floors. Only the programs in examples/, and what is
# compiled where lacuna is installed (the shim of Fortran, the backend of PyTorch), use the headers for programs,
# <lacuna/...>: a file must not see two forms of one header.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

floors='
runtime/values
runtime/files runtime/graph kernels transports
runtime/method
runtime/observe
runtime/config
runtime/engine
runtime/communicator
runtime/job
algorithms
bindings/cpp
bindings/c bindings/workload
bindings/checkpoint bindings/kokkos bindings/mpi bindings/python
examples/workloads
bindings/cli examples bindings/fortran bindings/python/lacuna
'

# Prints each include of a tree that the floors do not allow, and each file that lies in no room.
wrong_includes() {
  cd "$1"
  grep -rE '^[[:space:]]*#[[:space:]]*include ("|<lacuna/)|^#pragma once' --include='*.[ch]pp' --include='*.[ch]' --include='*.def' \
      runtime kernels transports algorithms bindings examples | awk -v floors="$floors" '
    # The room of a file: the longest one whose folder holds it.
    function room_of(path,    name, best) {
      best = ""
      for (name in floor) if (index(path, name "/") == 1 && length(name) > length(best)) best = name
      return best
    }
    BEGIN {
      count = split(floors, lines, "\n")
      for (i = 1; i <= count; ++i) {
        rooms = split(lines[i], names, " ")
        for (j = 1; j <= rooms; ++j) floor[names[j]] = i
      }
    }
    {
      file = substr($0, 1, index($0, ":") - 1)
      from = room_of(file)
      if (from == "") { if (!(file in told)) print file ": no floor has a room for this file"; told[file]; next }
      if ($0 ~ /include <lacuna\//) {
        if (from != "examples" && from !~ /(fortran|python\/lacuna)$/) print file " includes a header for programs"
        next
      }
      if (!match($0, /include "[^"]*"/)) next
      included = substr($0, RSTART + 9, RLENGTH - 10)
      to = room_of(included)
      if (to != "" && to != from && floor[to] >= floor[from]) print file " includes " included
    }'
}

found=$(wrong_includes .)
if [[ -n $found ]]; then
  printf '%s\n' "$found"
  printf 'these includes do not point down\n'
  exit 1
fi

# The check finds an include that points up, one between rooms of one floor, one of a header for programs, and a file in
# no room.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{runtime/values,runtime/graph,runtime/new,kernels,transports,algorithms,bindings,examples}
printf '#include "runtime/graph/graph.hpp"\n' >"$tree/runtime/values/up.hpp"
printf '#include "kernels/reduce.hpp"\n' >"$tree/runtime/graph/beside.cpp"
printf '#pragma once\n' >"$tree/runtime/new/homeless.hpp"
printf '#include "runtime/values/status.hpp"\n' >"$tree/kernels/down.cpp"
printf '#include <lacuna/lacuna.hpp>\n' | tee "$tree/kernels/both.cpp" >"$tree/examples/program.cpp"
lines=$(wrong_includes "$tree" | wc -l)
((lines == 4)) || { printf 'of four wrong includes, %d were found\n' "$lines"; exit 1; }
