#!/usr/bin/env bash
# Plays session.sh on the mock device. Usage: session_test.sh BUILD
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$here/session.sh" --mock "$1" "$work" || { cat "$work"/*.log && exit 1; }
"$here/results.py" tables "$work/results.json" | tee "$work/tables"
for stage in info two_ranks four_ranks kernels algorithms rates calls; do
  grep -q "^| $stage | ok |" "$work/tables" || { printf 'stage %s did not run\n' "$stage" && exit 1; }
done
for stage in stream_holds peers pytorch; do grep -q "^| $stage | skipped |" "$work/tables"; done
grep -q '^| sum of two arrays |' "$work/tables"
grep -q '^| cuda-topk |' "$work/tables"

# Stages that fail are told, and the session ends with an error.
mkdir -p "$work/broken/bin"
for program in "$1"/bin/*; do ln -s /bin/false "$work/broken/bin/${program##*/}"; done
ln -sf "$(realpath "$1")/bin/lacuna" "$work/broken/bin/lacuna"
ln -s "$(realpath "$1")/tests" "$work/broken/tests"
if "$here/session.sh" --mock "$work/broken" "$work/failed"; then
  printf 'a session whose programs fail has ended well\n'
  exit 1
fi
for stage in two_ranks kernels rates; do grep -q "^$stage,failed," "$work/failed/stages.csv"; done
grep -q '^info,ok,' "$work/failed/stages.csv"
