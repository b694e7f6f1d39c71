#!/usr/bin/env bash
# Formats the C and C++ sources in place, or with --check only tells which differ.
# Releases of clang-format disagree on details: the check needs this one, and exits with 77 (skipped) without.
set -euo pipefail
cd "$(dirname "$0")/.."

version=14
tool=$(command -v "clang-format-$version" || command -v clang-format || true)
found=$([ -z "$tool" ] || "$tool" --version | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
if [ "$found" != "$version" ]; then
  echo "format.sh: needs clang-format $version, found ${found:-none}"
  exit 77
fi

mode=(-i)
[ "${1:-}" != --check ] || mode=(--dry-run -Werror)
find src include tests tools examples python/binding -name '*.h' -o -name '*.c' -o -name '*.cc' -o -name '*.cu' | sort | xargs "$tool" "${mode[@]}"
