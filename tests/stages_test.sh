#!/usr/bin/env bash
# Tests tests/stages.sh: what fails once and passes alone is FLAKY, and what fails twice fails the run.
set -euo pipefail
stages=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/stages.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Entries of ctest: `good` passes, `bad` fails, and what is named `chance...` fails unless it has run before.
cat >CTestTestfile.cmake <<'END'
add_test(good "true")
add_test(bad sh -c "echo 'bad.cpp:1: Failure'; exit 1")
add_test(twice.as_bad sh -c "exit 1")
foreach(entry chance.1 chance.12 chance.3 chance.4)
  add_test("${entry}" sh -c "test -e ${entry} || { touch ${entry}; echo '${entry}.cpp:1: Failure'; exit 1; }")
endforeach()
END
by_chance() { [[ -e $1 ]] || { touch "$1" && printf 'nobody has made %s\n' "$1" && return 1; }; }
entries() { ctest --output-on-failure --parallel 2 "$@"; }

# run NAME STATUS COMMANDS: runs the commands as the script of a run, and compares its exit status.
run() {
  local status=0
  name=$1
  rm -f chance*
  bash -euo pipefail -c "logs=$work/$name; source $stages; $(declare -f by_chance entries)
    begin_stages
    $3
    try_again
    echo 'the end is reached'" >said 2>&1 || status=$?
  [[ $status == "$2" ]] || fail "the exit status is $status"
}
fail() {
  printf '%s: %s. It said:\n' "$name" "$1"
  cat said
  exit 1
}
says() { grep -qE -- "$1" said || fail "nothing says \"$1\""; }
says_not() { ! grep -qE -- "$1" said || fail "something says \"$1\""; }

run good 0 'stage "a stage" true; try_entries entries entries -R "^good$"; stage "no machine" sh -c "exit 77"'
says '^\| a stage \| ok \| [0-9]+ \|$'
says '^\| entries \| ok \|'
says '^\| no machine \| skipped \|'
says_not 'FLAKY|FAILED|again'

run stage_fails 1 'stage "a stage" false; echo "it goes on"'
says '^\| a stage \| FAILED \|'
says '^a stage has failed; all of its output is in .*a-stage\.log$'
says_not 'it goes on|the end is reached'

run by_chance 0 'try one by_chance chance; try_entries entries entries -R "^(good|chance\.12?)$"; stage "one more" true'
says '^\| one \| again \|'
says '^\| entries \| again \|'
says '^\| one more \| ok \|'
for name_of_one in one 'entries: chance\.1' 'entries: chance\.12'; do
  says "^\\| $name_of_one \\| FLAKY \\|"
  says "^FLAKY: $name_of_one has failed once and passed alone"
done
says '^nobody has made chance$'
says 'the end is reached'
[[ $(grep -c '^chance\.1\.cpp:1: Failure$' said) == 2 ]] || fail 'the first failure must be shown once with the stage and once at the end'

run fails_twice 1 'try_entries entries entries -R "^(good|bad|chance\.1)$"; try one false; stage "one more" true'
says '^\| one more \| ok \|'
says '^\| entries: bad \| FAILED \|'
says '^\| entries: chance\.1 \| FLAKY \|'
says '^\| one \| FAILED \|'
says '^entries: bad has failed twice; '
says_not 'good \|| the end is reached'

run too_many 1 'try_entries entries entries -R "^chance"; echo "it goes on"'
says '^entries has failed; '
says_not 'FLAKY|it goes on'

run ends_early 1 'try one false; stage "a stage" false'
says '^one has failed, and was not run again; '

run no_entry 1 'try_entries entries entries -R "^nothing$" --no-tests=error'
says '^entries has failed; '
