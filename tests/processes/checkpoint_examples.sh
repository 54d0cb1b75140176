#!/usr/bin/env bash
# The examples of docs/checkpoints.md, in C++ and in C, go on where one of them has stopped, to the same bits.
# Usage: checkpoint_examples.sh LACUNA PROGRAM...
set -euo pipefail
lacuna=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() { "$lacuna" launch -n 3 --raw -- "$@"; }

mkdir "$work/whole"
whole=$(run "$1" "$work/whole" 50)
grep -q '^begins after step 0$' <<<"$whole"
for first in "$@"; do
  for second in "$@"; do
    rm -rf "$work/parts"
    mkdir "$work/parts"
    run "$first" "$work/parts" 23 >/dev/null
    parts=$(run "$second" "$work/parts" 50)
    grep -q '^begins after step 23$' <<<"$parts"
    [[ $(grep '^field' <<<"$parts") == "$(grep '^field' <<<"$whole")" ]] || { printf '%s\n' "$whole" "$parts"; exit 1; }
  done
done
if said=$(run "$2" "$work/missing" 10 2>&1); then exit 1; fi
grep -q "rank 0: $work/missing" <<<"$said" || { echo "$said"; exit 1; }
