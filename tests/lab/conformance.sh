#!/usr/bin/env bash
# What each rank in the lab runs: every algorithm that `lacuna list` names, and messages, with results that are checked.
# Usage: conformance.sh LACUNA
set -euo pipefail

sizes=(-b 1K -e 1M -f 1024 -n 2 -w 1)
list=$("$1" list | tail -n +2)
[[ $list == *allreduce*barrier* ]]
while read -r collective algorithm _; do
  "$1" perf "$collective" --algorithm "$algorithm" "${sizes[@]}" </dev/null
done <<<"$list"
"$1" perf sendrecv "${sizes[@]}"
