# How tests/run.sh runs its stages and tells what came of them; tests/stages_test.sh tests it. The output of a stage goes
# to $logs and is shown if the stage fails. At the end a table has all stages with their times, and the last lines say
# what has failed.
#
# No test should fail by chance. Where one does, this must not hide another change's fault, and it must be seen. So what
# has failed in `try` or `try_entries` runs once more, alone, in `try_again`. If it passes then, it is FLAKY.

table=$logs/table
failures=$logs/failures  # the first lines of what has failed; shown last, where a reader looks first
once_more=()             # the names of what has failed once
declare -A command_of log_of
most_once_more=3  # more do not fail by chance

begin_stages() {
  mkdir -p "$logs"
  : >"$table"
  : >"$failures"
  trap finish EXIT
}

# A lane is a sequence of stages. Lanes run at the same time. When the script ends, it ends all lanes.
lanes=()
start_lane() {
  set -m  # then each lane is a process group, which can be ended as a whole
  "$@" &
  lanes+=($!)
  set +m
}
wait_for_lanes() {
  while ((${#lanes[@]} > 0)); do
    wait "${lanes[0]}"
    lanes=("${lanes[@]:1}")
  done
}

finish() {
  local lane name
  for lane in "${lanes[@]}"; do kill -- "-$lane" 2>/dev/null || true; done
  for name in "${once_more[@]}"; do tell "$name has failed, and was not run again" "${log_of[$name]}"; done
  printf '\n| stage | result | seconds |\n| --- | --- | ---: |\n'
  cat "$table"
  printf '| all | %s | %d |\n' "$(git describe --always --dirty --abbrev=8 2>/dev/null)" "$SECONDS"
  cat "$failures"
}

# Prints the names of the failed tests of a log and its first failed checks or errors; the end of the log if it has
# neither. Errors that lacuna itself prints are no faults: many tests expect them.
first_failures() {
  grep -E '^\[  FAILED  \] .* \([0-9]+ ms\)$' "$1" | cut -c 1-160 | head -n 20 || true
  grep -m 3 -A 6 -E ': Failure$|: (runtime )?error: |: ERROR: |==ERROR: |WARNING: ThreadSanitizer' "$1" | cut -c 1-160 ||
    tail -n 8 "$1"
}

# Keeps a line for the end, with the first failures of a log.
tell() {
  printf '%s; all of its output is in %s\n' "$1" "$2" >>"$failures"
  first_failures "$2" >>"$failures"
}

# Runs a command, with its output in a log, and adds a line to the table. An exit status of 77 means that this machine
# cannot do it; the last line of the output says why.
run_stage() {
  local name=$1 log=$2 failed=$3 start=$SECONDS status=0 result
  shift 3
  "$@" >"$log" 2>&1 || status=$?
  case $status in
    0) result=${passed:-ok} ;;
    77) result=skipped ;;
    *) result=$failed ;;
  esac
  printf '%-20s %-7s %4d s\n' "$name" "$result" $((SECONDS - start))
  printf '| %s | %s | %d |\n' "$name" "$result" $((SECONDS - start)) >>"$table"
  [[ $result != skipped ]] || tail -n 1 "$log"
  [[ $result == "$failed" ]] || return 0
  tail -n 200 "$log"
  return 1
}

log_named() { printf '%s/%s.log' "$logs" "${1//[^A-Za-z0-9_.-]/-}"; }

# stage NAME COMMAND...: what fails here ends the run.
stage() {
  local name=$1 log
  shift
  log=$(log_named "$name")
  run_stage "$name" "$log" FAILED "$@" && return
  tell "$name has failed" "$log"
  return 1
}

# try NAME COMMAND...: a stage that runs once more at the end if it fails.
try() {
  local name=$1 log
  shift
  log=$(log_named "$name")
  run_stage "$name" "$log" again "$@" || keep_for_later "$name" "$log" "$@"
}

# try_entries NAME COMMAND...: a stage whose command runs entries of ctest. Those that fail run once more at the end: the
# command takes further arguments for ctest.
try_entries() {
  local name=$1 log entry
  shift
  log=$(log_named "$name")
  run_stage "$name" "$log" again "$@" && return
  mapfile -t failed < <(sed -nE '/^The following tests FAILED:/,$s/^\t *[0-9]+ - ([^ ]+) \(.*/\1/p' "$log")
  if ((${#failed[@]} == 0 || ${#failed[@]} > most_once_more)); then
    tell "$name has failed" "$log"
    return 1
  fi
  for entry in "${failed[@]}"; do
    output_of "$entry" <"$log" >"$(log_named "$name: $entry")"
    keep_for_later "$name: $entry" "$(log_named "$name: $entry")" "$@" -R "^${entry//./\\.}\$"
  done
}

# Prints the part of ctest's output that belongs to a failed entry.
output_of() {
  awk -v entry="$1" '/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / { shown = $4 == entry } /^ +Start +[0-9]+: / { shown = 0 } shown'
}

keep_for_later() {
  local name=$1
  log_of[$name]=$2
  shift 2
  command_of[$name]=$(printf '%q ' "$@")
  once_more+=("$name")
}

# Runs what has failed once more. Nothing else should run meanwhile.
try_again() {
  local name log status=0 passed=FLAKY
  for name in "${once_more[@]}"; do
    once_more=("${once_more[@]:1}")
    log=$(log_named "$name again")
    if run_stage "$name" "$log" FAILED eval "${command_of[$name]}"; then
      tell "FLAKY: $name has failed once and passed alone" "${log_of[$name]}"
    else
      tell "$name has failed twice" "$log"
      status=1
    fi
  done
  return "$status"
}
