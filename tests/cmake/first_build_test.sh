#!/usr/bin/env bash
# A build without tests, as examples/quickstart.sh and pip make it, compiles folders and not files. Otherwise the first
# command takes twice as long. Usage: first_build_test.sh SOURCE COMPILER
set -euo pipefail
source=$1 compiler=$2
most=80  # there are more than 400 files
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -S "$source" -B "$work" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DLACUNA_TESTS=OFF >"$work/said" 2>&1 ||
  { cat "$work/said" && exit 1; }
compiled=$(ninja -C "$work" -t commands lacuna | grep -c -- ' -c ')
((compiled <= most)) || { printf 'The command is compiled in %d pieces, and not in %d.\n' "$compiled" "$most" && exit 1; }
