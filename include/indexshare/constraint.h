// The form that an answer can be bound to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace indexshare {

/// Every answer that ends by itself has the form; one that max_tokens cuts off is the beginning of one that
/// has.
struct Constraint {
  enum class Kind : uint8_t {
    json_object,     // any object of JSON
    json_schema,     // JSON by the schema in `text`; no properties but those that it names, in its order
    regex,           // the whole answer matches the regular expression in `text`
    choice,          // one of `choices`
    grammar,         // the rule "root" of the EBNF in `text`, as XGrammar reads it
    structural_tag,  // XGrammar's structural tag in `text`: JSON that puts several forms together
  };
  Kind kind = Kind::json_object;
  std::string text = {};
  std::vector<std::string> choices = {};

  bool operator==(const Constraint&) const = default;
};

/// In JSON of a form, in one place: an answer that goes on with nothing else comes to an end.
constexpr int kMaxJsonWhitespace = 20;

constexpr std::string_view constraint_kind_name(Constraint::Kind kind) {
  switch (kind) {
    case Constraint::Kind::json_object: return "json_object";
    case Constraint::Kind::json_schema: return "json_schema";
    case Constraint::Kind::regex: return "regex";
    case Constraint::Kind::choice: return "choice";
    case Constraint::Kind::grammar: return "grammar";
    case Constraint::Kind::structural_tag: return "structural_tag";
  }
  return "";
}

/// What a constraint comes to in the vocabulary of an engine: Engine::compile() makes it. Immutable, for any
/// number of requests.
class Grammar;

}  // namespace indexshare
