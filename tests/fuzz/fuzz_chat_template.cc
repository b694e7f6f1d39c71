// Any text as a template over fixed variables: it renders within its limits, the same twice, or is refused
// with an error that names it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "text/jinja/template.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

constexpr std::string_view kVariables = R"({
  "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüße"},
               {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
               {"role": "tool", "content": [{"type": "text", "text": "日本"}]}],
  "tools": [{"type": "function", "function": {"name": "f", "parameters": {"a": [1, 2.5, true, null]}}}],
  "add_generation_prompt": true, "bos_token": "<s>", "n": -7, "half": 0.5, "word": "it's \"q\" <&>"
})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace indexshare;
  static const Json variables = *parse_json(kVariables, "variables");
  jinja::Limits limits;
  limits.steps = 50'000;
  limits.bytes = 4 << 20;
  limits.output_bytes = 1 << 20;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  if (source.find("strftime_now") != std::string_view::npos) return 0;  // differs from call to call
  const auto parsed = jinja::Template::parse(source, "fuzz");
  if (!parsed.ok()) {
    require(parsed.error().message.starts_with("fuzz"));
    return 0;
  }
  const auto first = parsed->render(variables, limits);
  const auto second = parsed->render(variables, limits);
  require(first.ok() == second.ok());
  if (first.ok()) {
    require(first->size() <= static_cast<size_t>(limits.output_bytes) && *first == *second);
    Json text = *first;
    require(Json::parse(text.dump()) == text);  // dump() refuses what is not UTF-8
  } else {
    require(first.error().message.starts_with("fuzz") && first.error().message == second.error().message);
  }
  return 0;
}
