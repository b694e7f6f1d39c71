#!/usr/bin/env bash
# Speed on this machine, beside its limits: the bundled model, and GLM-5.2's geometry with random weights
# (4 layers, 8 experts) at up to a million tokens; about ten minutes and 15 GB of memory. Curves and figures
# go to build/bench. Figures of one run on one machine only compare with each other.
set -euo pipefail
cd "$(dirname "$0")/.."

program=build/release/indexshare
out=build/bench
mkdir -p "$out"
say() { printf '\n%s\n' "$*"; }
slice=(--geometry glm-5.2 --layers 4 --experts 8 --vocab 4096)

say "This machine"
"$program" bench --machine

say "models/pocket"
"$program" bench models/pocket --depth 0,4K,64K --batch 1,16 --decode 64 --plot "$out/pocket.svg"

say "GLM-5.2's geometry, 4 layers FSSS, 8 experts of which 2 serve a token: bf16, then fp8"
"$program" bench "${slice[@]}" --depth 0,4K,64K --repeat 2 --machine --plot "$out/slice-bf16.svg"
"$program" bench "${slice[@]}" --dtype fp8 --depth 0,4K,64K --repeat 2 --plot "$out/slice-fp8.svg"

say "One index for four layers against one for each, up to a million tokens"
"$program" bench "${slice[@]}" --pattern FSSS,FFFF --depth 0,4K,32K,64K,128K,256K,512K,1M --decode 4 --prefill 64 --repeat 2 \
  --plot "$out/index-share.svg"

say "Curves: $out/*.svg"
