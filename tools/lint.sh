#!/usr/bin/env bash
# Runs clang-tidy over the sources of src/, or over those FILES... alone.
set -euo pipefail
cd "$(dirname "$0")/.."

# A tree of its own, configured with clang++: clang-tidy does not know gcc's options.
dir=build/lint
mkdir -p "$dir"
cmake -S . -B "$dir" -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DINDEXSHARE_TESTS=OFF >"$dir/cmake.log" 2>&1 ||
  { cat "$dir/cmake.log" >&2; exit 1; }

files=("$@")
[ $# -gt 0 ] || files=("$PWD/src/.*")
if ! run-clang-tidy -quiet -p "$dir" -j "$(nproc)" "${files[@]}" >"$dir/lint.log" 2>&1; then
  grep -vE '^(clang-tidy|[0-9]+ warnings? generated|Suppressed|Use -header-filter)' "$dir/lint.log" >&2
  exit 1
fi
