#!/usr/bin/env bash
# Installs the packages that building, testing and linting need and that are missing (Debian, Ubuntu).
# Usage: tools/setup.sh [build] [python] [test] [lint]      default: build
set -euo pipefail

build="g++ cmake ninja-build pkg-config libfmt-dev nlohmann-json3-dev libcli11-dev libsimdjson-dev
       libpcre2-dev libutf8proc-dev libedit-dev libnuma-dev libxxhash-dev boost
       libjs-marked node-dompurify libjs-highlight.js prometheus-cpp-dev libssl-dev
       python3 python3-venv" # Python fetches XGrammar
python="python3 python3-dev python3-venv"
test="libgtest-dev liblzma-dev openssl $python clang clang-format clang-runtime browser"
lint="clang-tidy"
if [ "$(uname -m)" != aarch64 ]; then # the NEON kernels are tested under emulation
  test+=" g++-aarch64-linux-gnu qemu-user googletest"
fi

# The sanitizer and fuzzer libraries of clang have a package of their own, whose name has changed over time.
clang_runtime_package() {
  local version name
  version=$(apt-cache depends clang | sed -n 's/^ *Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
  for name in libclang-rt-dev "libclang-rt-$version-dev" "libclang-common-$version-dev"; do
    if apt-cache show "$name" >/dev/null 2>&1; then
      echo "$name"
      return
    fi
  done
  echo libclang-rt-dev
}

# The one that the web page is tested in; nothing where the distribution has none as a package.
browser_package() {
  local name
  for name in chromium-headless-shell chromium; do
    if apt-cache show "$name" >/dev/null 2>&1; then
      echo "$name"
      return
    fi
  done
}

has_browser() { command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null; }

# The server needs 1.81 or newer: Debian 12 has it beside its older default.
boost_package() {
  if apt-cache show libboost1.81-dev >/dev/null 2>&1; then echo libboost1.81-dev; else echo libboost-dev; fi
}

has_boost() {
  local version
  version=$(sed -n 's/^#define BOOST_VERSION \([0-9]*\)$/\1/p' /usr/include/boost/version.hpp 2>/dev/null)
  [ "${version:-0}" -ge 108100 ]
}

clang_has_runtime() {
  local library
  for library in "$(clang++ -print-resource-dir 2>/dev/null)"/lib/*/libclang_rt.fuzzer*; do
    [ -e "$library" ] && return
  done
  return 1
}

is_installed() { grep -qxF "installed $1" <<<"$installed"; }

sets=("$@")
[ $# -gt 0 ] || sets=(build)
wanted=()
for name in "${sets[@]}"; do
  case "$name" in
    build | python | test | lint) read -r -d '' -a packages <<<"${!name}" || true ;;
    *)
      echo "setup.sh: unknown set '$name', expected build, python, test or lint" >&2
      exit 2
      ;;
  esac
  wanted+=("${packages[@]}")
done

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  for tool in c++ cmake ninja pkg-config; do
    command -v "$tool" >/dev/null && continue
    echo "setup.sh: '$tool' is missing, and this is no system with apt-get." >&2
    echo "Install what corresponds to these Debian packages, then try again: ${wanted[*]}" >&2
    exit 1
  done
  exit 0 # the libraries that are missing are named by CMake
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null || true)
missing=()
for package in "${wanted[@]}"; do
  if [ "$package" = clang-runtime ]; then
    clang_has_runtime || missing+=("$package")
  elif [ "$package" = boost ]; then
    has_boost || missing+=("$package")
  elif [ "$package" = browser ]; then
    has_browser || missing+=("$package")
  elif ! is_installed "$package"; then
    missing+=("$package")
  fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: these packages are missing; install them as root: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "installing ${missing[*]}"
. "$(dirname "$0")/quietly.sh"
run_quietly "${as_root[@]}" apt-get update
for i in "${!missing[@]}"; do
  case "${missing[i]}" in
    clang-runtime) missing[i]=$(clang_runtime_package) ;;
    boost) missing[i]=$(boost_package) ;;
    browser) missing[i]=$(browser_package) ;;
  esac
done
run_quietly "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ${missing[*]}
