#!/usr/bin/env bash
# Shows that the tests find faults: each patch of this folder plants one in a copy of the tree, where its tests must
# fail. A patch's first line says what is wrong then, its second which tests are run. Usage: run.sh [PATCH...]
# run.sh --fit: only sees that all patches fit the tree. run.sh --tenth: takes each tenth patch; with the next commit it
# takes the ones after these.
set -euo pipefail
trap 'printf "%s: line %d failed, so that it ends here\n" "$0" "$LINENO" >&2' ERR
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ ${1:-} == --fit ]]; then
  for patch in tests/mutations/*.patch; do
    patch -p1 --dry-run --silent --force <"$patch" || { printf '%s does not fit the tree\n' "$patch" && exit 1; }
  done
  exit
fi

patches=("$@")
if [[ $# == 0 || $1 == --tenth ]]; then patches=(tests/mutations/*.patch); fi
if [[ ${1:-} == --tenth ]]; then
  mapfile -t patches < <(printf '%s\n' "${patches[@]}" | awk -v commits="$(git rev-list --count HEAD)" 'NR % 10 == commits % 10')
fi
mapfile -t patches < <(realpath -- "${patches[@]}")
tree=$PWD/build/mutations
log=$tree/build/log
tests/support/copy_tree.sh "$tree"
cd "$tree"
export CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1

# Of each patch: a folder of tests/, and which tests of it. They are those of GoogleTest in the folder's executable that
# a filter names. Where there is no such executable, they are the entries of ctest with this label that an expression
# names.
tests_of() { sed -n '2s/^Tests: //p' "$1"; }
for patch in "${patches[@]}"; do
  [[ $(tests_of "$patch") == ?*\ ?* ]] && continue
  printf '%s: its second line must be "Tests: FOLDER FILTER"\n' "$patch"
  exit 1
done
build() {
  cmake --build --preset release --parallel "$(nproc)" --target "${@/%/_tests}" >"$log" 2>&1 && return
  tail -n 50 "$log"
  return 1
}
# Tests get nothing from the lists that this script reads.
run() {
  if [[ -e build/release/bin/$1_tests ]]; then
    timeout 600 "build/release/bin/$1_tests" --gtest_fail_fast --gtest_filter="$2" </dev/null >"$log" 2>&1
  else
    timeout 600 ctest --test-dir build/release -L "^$1\$" -R "$2" --stop-on-failure --no-tests=error </dev/null >"$log" 2>&1
  fi
}

mkdir -p build
touch build/planted  # where faults were when it was built
sort -u build/planted | xargs -r touch -c
cmake --preset release -DLACUNA_TESTS=ON -DLACUNA_WERROR=ON -DLACUNA_KOKKOS=ON >"$log"
all=$(for patch in "${patches[@]}"; do tests_of "$patch"; done | sort -u)
mapfile -t folders < <(cut -d' ' -f1 <<<"$all" | sort -u)
build "${folders[@]}"
while read -r folder filter; do
  run "$folder" "$filter" && grep -qE '^\[==========\] Running [1-9]|^100% tests passed' "$log" && continue
  tail -n 50 "$log"
  printf 'without a fault, %s of %s_tests must be there and pass\n' "$filter" "$folder"
  exit 1
done <<<"$all"

survivors=0
for patch in "${patches[@]}"; do
  read -r folder filter < <(tests_of "$patch")
  sed -n 's|^+++ b/||p' "$patch" >>build/planted
  patch -p1 --silent <"$patch"
  build "$folder" || { printf '%s does not compile\n' "$patch" && exit 1; }
  if run "$folder" "$filter"; then
    found='NOT FOUND'
    survivors=$((survivors + 1))
  else
    found=$(sed -nE 's/^(\[  FAILED  \]|\t *[0-9]+ -) ([^ ,]*).*/\2/p;T;q' "$log")
  fi
  printf '%-40s %s\n' "$(basename "$patch" .patch)" "${found:-ended early: $(tail -n 1 "$log")}"
  patch -p1 --silent --reverse <"$patch"
done
((survivors == 0)) || { printf '%d of %d faults are found by no test\n' "$survivors" "${#patches[@]}" && exit 1; }
