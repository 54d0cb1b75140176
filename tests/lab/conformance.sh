#!/usr/bin/env bash
# Each rank in the lab runs this script. It calls every algorithm that `lacuna list` names for any number of hosts,
# without a method and with each method that it serves, and sends messages. All results are checked.
# Usage: conformance.sh LACUNA
set -euo pipefail

sizes=(-b 1K -e 1M -f 1024 -n 2 -w 1)
declare -A options=([skip]="skip:steps=1,incomplete=1" [topk]="topk:density=1,feedback=0" [ok_topk]="ok_topk:density=1" [blocks]="blocks:block=64"
  [sketch]="sketch:block=4" [cast]="cast:to=bf16" [quantize]="quantize:feedback=0"
  [lowrank]="lowrank:rank=4")

# Prints one table of a list, without its header. The header begins with the given word.
table() {
  awk -v word="$1" 'NF == 0 { inside = 0 } inside { print } $1 == word { inside = 1 }'
}

list=$("$1" list | table collective)
[[ $list == *allreduce*barrier* ]]
while read -r collective algorithm hosts _; do
  [[ $hosts == any ]] || continue
  "$1" perf "$collective" --algorithm "$algorithm" "${sizes[@]}" </dev/null
done <<<"$list"

methods=$("$1" list | table method)
while read -r method _; do
  serving=$("$1" list "$method" | table collective)
  [[ $serving == *allreduce* ]]
  while read -r collective _ name _; do
    "$1" perf "$collective" --algorithm "$name" --method "${options[$method]}" "${sizes[@]}" </dev/null
  done <<<"$serving"
done <<<"$methods"
"$1" perf sendrecv "${sizes[@]}"
