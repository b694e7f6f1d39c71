#!/usr/bin/env bash
# The project in a minute: the bundled model, a word that it knows, and one that it finds in its prompt.
# With PROMPT in the environment, that prompt instead.
set -euo pipefail
cd "$(dirname "$0")/.."

program=build/release/indexshare
model=models/pocket

if [ -n "${PROMPT:-}" ]; then
  exec "$program" run "$model" -- "$PROMPT"
fi

say() { printf '\n\033[1m%s\033[0m\n' "$1"; }
[ -t 1 ] || say() { printf '\n%s\n' "$1"; }

"$program" inspect "$model"
say "A word that the model knows: What is a parrakeet?"
"$program" run "$model" "What is a parrakeet?"
say "An invented word, explained in the notes of the prompt (tools/demo/notes.txt): What is an immerlune?"
"$program" run "$model" --prompt-file tools/demo/notes.txt
