#!/usr/bin/env bash
# Makes a virtual environment with what building and testing the Python package needs, and brings it up to
# date when that changes. Usage: tools/python.sh [DIRECTORY]      default: build/python
set -euo pipefail
cd "$(dirname "$0")/.."

directory=${1:-build/python}
requirements=python/requirements.txt
cmp -s "$requirements" "$directory/requirements.txt" && exit 0

. tools/quietly.sh
echo "installing the packages of $requirements into $directory"
run_quietly python3 -m venv "$directory"
run_quietly "$directory/bin/python" -m pip install --disable-pip-version-check -r "$requirements"
cp "$requirements" "$directory/requirements.txt"
