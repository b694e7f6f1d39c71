#!/usr/bin/env bash
# Fetches and builds XGrammar, the library that binds answers to grammars, as a static library that the trees of
# all presets share; two to three minutes, once. Usage: tools/xgrammar.sh [DIRECTORY]      default: build/xgrammar
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.2.9
sha256=87b466bca2475e29bb0323abc62c6c33cbcbcff47e5fb800a3e2099ac9620b90
directory=$(realpath -m "${1:-build/xgrammar}")
mkdir -p "$directory"
exec 9>"$directory/lock"
flock 9 # trees may be configured at the same time
stamp=$(sha256sum <tools/xgrammar.sh)
[ "$(cat "$directory/stamp" 2>/dev/null)" != "$stamp" ] || exit 0

. tools/quietly.sh
echo "building xgrammar $version in $directory"
work=$directory/work
rm -rf "$work" "$directory/stamp"
mkdir -p "$work/tree"

# Its sources come as a Python package.
run_quietly python3 -m venv "$work/venv"
run_quietly "$work/venv/bin/python" -m pip download --disable-pip-version-check --no-deps --no-binary xgrammar \
  --dest "$work" "xgrammar==$version"
run_quietly sha256sum --check <<<"$sha256  $work/xgrammar-$version.tar.gz"
run_quietly tar --extract --file "$work/xgrammar-$version.tar.gz" --directory "$work" "xgrammar-$version"

# Its parser tells us of each step (src/sample/grammar.cc), so that what would take too long can be ended.
run_quietly sed -i -e 's/^namespace xgrammar {$/&\nvoid CountStep();/' \
  -e 's/^  void Enqueue\(WithoutProcessing\)\?(const ParserState& state) {$/&\n    CountStep();/' \
  "$work/xgrammar-$version/cpp/earley_parser.h"
run_quietly sed -i -e 's/^  for (const auto& state : latest_states) {$/&\n    CountStep();/' \
  "$work/xgrammar-$version"/cpp/{earley_parser,grammar_matcher}.cc
run_quietly sed -i -e 's/^ *for (const auto& parent_state_iter : parent_states_map) {$/&\nCountStep();/' \
  -e 's/^ *for (const auto& \[ref_id, parent_state\] : parent_states_map) {$/&\nCountStep();/' \
  -e 's/^\( *\)return StateEqualForParsing()(s.second, state_)/\1CountStep();\n&/' \
  "$work/xgrammar-$version/cpp/earley_parser.cc"
# A call in the form of GLM has no space between its parts, which would be the value's: any_whitespace says so there.
run_quietly sed -i -e 's/any_whitespace=\*\/true,$/any_whitespace=*\/format.style != "glm_xml",/' \
  "$work/xgrammar-$version/cpp/structural_tag.cc"
run_quietly sed -i -e 's/^ *elements.push_back(WhitespaceExpression());$/if (any_whitespace_) &/' \
  -e '/^std::string XMLToolCallingConverter::NextSeparator/,/^}/s/return GetWhitespacePattern()/return any_whitespace_ ? GetWhitespacePattern() : "\\"\\""/' \
  -e '/FormattingExpression(const std::string/,/^}/s/return ByteString(\(.*\));$/return \1.empty() ? Empty() : ByteString(\1);/' \
  "$work/xgrammar-$version/cpp/json_schema_converter.cc"
run_quietly test "$(cat "$work/xgrammar-$version"/cpp/*.cc |
  grep -cE 'if \(any_whitespace_\)  |any_whitespace_ \? GetWh|= "glm_xml",$|empty\(\) \? Empty\(\) : ByteS')" = 9
run_quietly test "$(cat "$work/xgrammar-$version"/cpp/*.{h,cc} | grep -c "CountStep();$")" = 13

cat >"$work/tree/config.cmake" <<'END'
set(XGRAMMAR_BUILD_PYTHON_BINDINGS OFF)
END
# What it has to say comes through functions of ours (src/sample/grammar.cc). Objects of a link-time optimisation
# would tie all trees to one compiler.
flags="-DXGRAMMAR_LOG_CUSTOMIZE=1 -fno-lto -Wno-error"
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
run_quietly cmake -S "$work/xgrammar-$version" -B "$work/tree" -G Ninja "${launcher[@]}" \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_CXX_VISIBILITY_PRESET=hidden \
  -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON -DCMAKE_INSTALL_PREFIX="$directory" -DCMAKE_INSTALL_LIBDIR=lib
run_quietly cmake --build "$work/tree"
run_quietly cmake --install "$work/tree"
# What goes along with it, and with the JSON library in it.
(cd "$work/xgrammar-$version" && cat NOTICE LICENSE && sed '/\*\//q' 3rdparty/picojson/picojson.h) >"$directory/licences.txt"
rm -rf "$work"
echo "$stamp" >"$directory/stamp"
