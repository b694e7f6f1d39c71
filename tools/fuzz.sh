#!/usr/bin/env bash
# Runs each fuzzer of build/fuzz for FUZZ_SECONDS, from its seeds and what earlier runs have found.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in build/fuzz/fuzz_*; do
  [ -x "$program" ] || continue
  name=${program#build/fuzz/fuzz_}
  seeds=tests/fuzz/seeds/$name
  corpus=build/corpus/$name
  mkdir -p "$corpus"
  options=(-max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048 -print_funcs=0
    -artifact_prefix="build/fuzz/$name-")
  [ ! -f "$seeds.dict" ] || options+=(-dict="$seeds.dict")
  inputs=("$corpus")
  [ ! -d "$seeds" ] || inputs+=("$seeds")
  log=build/fuzz/$name.log
  if ! "$program" "${options[@]}" "${inputs[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
  fi
  echo "$name: $(sed -n 's/^Done //p' "$log")"
done
