# Sourced by the other scripts: run_quietly COMMAND... shows what a command printed only where it fails, and
# then ends the script.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
run_quietly() {
  "$@" >"$log" 2>&1 && return
  cat "$log" >&2
  echo "$(basename "$0"): '$*' failed" >&2
  exit 1
}
