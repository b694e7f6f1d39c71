#!/usr/bin/env bash
# Builds a preset of CMakePresets.json, configuring it first where needed; says nothing more unless that
# fails. Usage: tools/build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
dir=build/$preset
log=$dir/build.log
mkdir -p "$dir"

run_quietly() {
  "$@" >"$log" 2>&1 && return
  cat "$log" >&2
  echo "building the preset '$preset' failed" >&2
  exit 1
}

# A build tree keeps its compiler; another one in CXX asks for a fresh tree, unless the preset names its own.
fresh=()
if [[ $preset != @(fuzz|neon|lint) ]] && [ -n "${CXX:-}" ] && [ -f "$dir/CMakeCache.txt" ]; then
  used=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$dir/CMakeCache.txt")
  [ "$used" = "$(command -v "$CXX")" ] || fresh=(--fresh)
fi
if [ "$preset" = dev ]; then tools/python.sh; fi
if [ ! -f "$dir/build.ninja" ] || [ "$dir/build.ninja" -ot CMakePresets.json ] || [ ${#fresh[@]} -gt 0 ]; then
  run_quietly cmake "${fresh[@]}" --preset "$preset"
fi

targets=()
[ $# -eq 0 ] || targets=(--target "$@")
echo "building $dir"
run_quietly cmake --build --preset "$preset" "${targets[@]}"
