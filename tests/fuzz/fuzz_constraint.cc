// Any text as a form: refused with a reason, or followed through an answer that keeps to it, one allowed byte
// after the other. The first byte is the kind, in the order of Constraint::Kind from "f" on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "sample/grammar.h"

namespace {

using namespace indexshare;
using Kind = Constraint::Kind;

constexpr int32_t kStop = 256;  // after a token for each byte
constexpr int kLength = 60;

GrammarVocabulary vocabulary() {
  GrammarVocabulary result;
  for (int byte = 0; byte < 256; ++byte) result.tokens.emplace_back(1, static_cast<char>(byte));
  result.tokens.emplace_back();
  return result;
}

Constraint constraint_of(Kind kind, std::string_view text) {
  Constraint constraint = {.kind = kind};
  if (kind != Kind::choice) {
    constraint.text = text;
    return constraint;
  }
  for (size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? 0 : end + 1)) {
    end = text.find('\n');
    constraint.choices.emplace_back(text.substr(0, end));
  }
  return constraint;
}

std::vector<int32_t> allowed_ids(const GrammarMatcher& matcher) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id <= kStop; ++id) {
    if ((matcher.allowed()[static_cast<size_t>(id) / 32] >> (id % 32)) & 1) ids.push_back(id);
  }
  return ids;
}

// The form says nothing of how large a number is, or how often a key comes.
bool is_json(const std::string& answer) {
  const auto json = parse_json(answer, "the answer");
  if (json.ok()) return true;
  const std::string& message = json.error().message;
  return message.find("number overflow") != message.npos || message.find("stands twice") != message.npos;
}

void expect_complete(const Constraint& constraint, const std::string& answer) {
  if (constraint.kind == Kind::json_object || constraint.kind == Kind::json_schema) {
    if (!is_json(answer)) std::abort();
  }
  if (constraint.kind == Kind::choice) {
    for (const std::string& choice : constraint.choices) {
      if (answer == choice) return;
    }
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static GrammarCompiler compiler(vocabulary);
  const auto kind = static_cast<Kind>(data[0] % 6);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Constraint constraint = constraint_of(kind, text);
  const auto grammar = compiler.compile(constraint);
  if (!grammar.ok()) {
    if (!grammar.error().message.starts_with(constraint_kind_name(kind))) std::abort();
    return 0;
  }
  const std::vector<int32_t> stops = {kStop};
  GrammarMatcher matcher(*grammar, stops);
  std::string answer;
  for (uint32_t draw = data[size - 1]; answer.size() < kLength; draw = draw * 1664525 + 1013904223) {
    const std::vector<int32_t> ids = allowed_ids(matcher);
    if (ids.empty()) break;
    if (ids.back() == kStop) expect_complete(constraint, answer);
    const int32_t id = ids[(draw >> 16) % ids.size()];
    if (id == kStop) break;
    if (!matcher.accept(id) && !matcher.is_lost()) std::abort();
    answer += static_cast<char>(id);
  }
  return 0;
}
