#!/usr/bin/env bash
# Speed of the bundled model, and of GLM-5.2's geometry with random weights (4 layers, 8 experts): about 10 GB
# of memory at the deepest. Figures of one run on one machine only compare with each other.
set -euo pipefail
cd "$(dirname "$0")/.."

program=build/release/indexshare
say() { printf '\n%s\n' "$*"; }

say "models/pocket"
"$program" bench models/pocket --depth 0,4K,64K --batch 1,16 --decode 64
say "GLM-5.2's geometry, 4 layers FSSS, 8 experts of which 2 serve a token, bf16"
"$program" bench --geometry glm-5.2 --layers 4 --experts 8 --vocab 4096 --depth 0,4K,64K --decode 8
say "the same at a million tokens: one index for four layers, then one for each"
for pattern in FSSS FFFF; do
  "$program" bench --geometry glm-5.2 --layers 4 --experts 8 --vocab 4096 --pattern "$pattern" --depth 1000K --decode 8 --prefill 0
done
