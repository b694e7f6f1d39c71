// Any text as an answer: where it is cut changes nothing, arguments are JSON, and nothing of it is lost.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/answer_parser.h"
#include "text/utf8.h"

namespace {

using namespace indexshare;

const ToolSchemas& tools() {
  static const ToolSchemas kSchemas =
      ToolSchemas(*openai_tools(*parse_json(R"([{"name": "f", "input_schema": {
    "properties": {"s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": ["string", "null"]},
    "o": {"type": "object"}}}}])",
                                            "tools")));
  return kSchemas;
}

// The events of a text in pieces whose lengths come from `next_length`, each kind's pieces joined.
template <typename F>
std::vector<AnswerEvent> read(std::string_view text, ReasoningText reasoning, F next_length) {
  AnswerParser parser(tools(), reasoning);
  std::vector<AnswerEvent> joined;
  const auto add = [&](const std::vector<AnswerEvent>& events) {
    for (const AnswerEvent& event : events) {
      const bool piece =
          event.kind <= AnswerEvent::Kind::content || event.kind == AnswerEvent::Kind::arguments;
      if (piece && !joined.empty() && joined.back().kind == event.kind) {
        joined.back().text += event.text;
      } else {
        joined.push_back(event);
      }
    }
  };
  while (!text.empty()) {
    const size_t length = std::min<size_t>(next_length(), text.size());
    add(parser.push(text.substr(0, length)));
    text.remove_prefix(length);
  }
  add(parser.finish());
  return joined;
}

std::string without_space(std::string_view text) {
  std::string result;
  std::copy_if(text.begin(), text.end(), std::back_inserter(result),
               [](char c) { return c != ' ' && c != '\t' && c != '\r' && c != '\n'; });
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto reasoning = static_cast<ReasoningText>(data[0] % 3);
  uint32_t state = data[1];
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);

  const std::vector<AnswerEvent> whole = read(text, reasoning, [&] { return text.size(); });
  if (read(text, reasoning, [] { return 1; }) != whole) std::abort();
  const auto random = [&] {
    state = state * 1664525 + 1013904223;
    return 1 + (state >> 24) % 31;
  };
  if (read(text, reasoning, random) != whole) std::abort();

  ParsedAnswer answer;
  for (const AnswerEvent& event : whole) answer.add(event);
  if (is_utf8(text)) {
    for (const ParsedAnswer::ToolCall& call : answer.calls) {
      const Result<Json> arguments = parse_json(call.arguments, "arguments");
      if (!arguments.ok() || !arguments->is_object()) std::abort();
    }
  }
  if (reasoning == ReasoningText::none && answer.calls.empty() &&
      without_space(answer.content) != without_space(text)) {
    std::abort();
  }
  return 0;
}
