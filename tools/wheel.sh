#!/usr/bin/env bash
# Builds a wheel of the Python package, and puts the libraries into it that other machines may lack: all but
# those of the C++ runtime and glibc, whose oldest version is in its name. Usage: tools/wheel.sh [DIRECTORY]
# (where the wheel goes; default: build/dist)
set -euo pipefail
directory=$(realpath -m "${1:-build/dist}")
cd "$(dirname "$0")/.."

tools/python.sh
. tools/quietly.sh
plain=build/wheel/plain
rm -rf "$plain"
echo "building a wheel in build/wheel"
run_quietly build/python/bin/python -m pip wheel --disable-pip-version-check --no-deps --wheel-dir "$plain" .
PATH="$PWD/build/python/bin:$PATH" run_quietly auditwheel repair --wheel-dir "$directory" "$plain"/*.whl
wheel=("$plain"/*.whl)
name=$(basename "${wheel[0]%-*}") # without the platform, which is another now
ls "$directory/$name"-*.whl
