#include "sample/constraint.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace indexshare {
namespace {

using Kind = Constraint::Kind;

constexpr size_t kMaxBytes = 256 << 10;
constexpr size_t kMaxRegexBytes = 4 << 10;
constexpr size_t kMaxChoices = 4096;
// An object's properties, where not all are required, come in any selection; where these are counted too,
// there is a rule for each property and count.
constexpr size_t kMaxProperties = 500, kMaxCountedProperties = 32;

// Schemas that one of these stands for leave no room for these others, which XGrammar would pass over.
constexpr std::string_view kCombinations[] = {"$ref", "anyOf", "oneOf", "allOf"};
constexpr std::string_view kBounds[] = {"properties",        "required",      "additionalProperties",
                                        "patternProperties", "propertyNames", "minProperties",
                                        "maxProperties",     "items",         "prefixItems",
                                        "minItems",          "maxItems",      "pattern",
                                        "minLength",         "maxLength",     "minimum",
                                        "maximum",           "multipleOf",    "exclusiveMinimum",
                                        "exclusiveMaximum"};

// Counted repetitions are written out, each up to about so many times, and multiply where they nest.
constexpr int64_t kMaxRepeats = 256;
constexpr int64_t kMaxExpanded = 20'000;

// What no grammar is made of: an answer would not be bound to it.
constexpr std::string_view kUnknownKeywords[] = {
    "not",         "if",       "then",        "else",       "dependentRequired", "dependentSchemas",
    "uniqueItems", "contains", "minContains", "maxContains"};

int64_t repeats_of(std::string_view braces) {  // "2,5"
  int64_t most = 1;
  for (const char* at = braces.data(); at < braces.data() + braces.size();) {
    int64_t count = 0;
    const auto [end, error] = std::from_chars(at, braces.data() + braces.size(), count);
    if (error != std::errc()) count = kMaxRepeats;  // too large, or none: what reads it says so
    most = std::max(most, std::min(count, kMaxRepeats));
    at = end + 1;
  }
  return most;
}

/// How many elements a regular expression, or a grammar, has once its repetitions are written out.
int64_t expanded_size(std::string_view text, bool is_grammar) {
  std::vector<int64_t> outer;  // sums of the groups around
  int64_t sum = 0, last = 0;   // of this group, and of its last element
  const auto add = [&](int64_t size) {
    last = size;
    sum = std::min(sum + size, kMaxExpanded + 1);
  };
  const auto skip_to = [&](size_t at, char end) {
    while (++at < text.size() && text[at] != end) at += text[at] == '\\' ? 1 : 0;
    return at;
  };
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\') {
      ++at;
      add(1);
    } else if (c == '[') {
      at = skip_to(at, ']');
      add(1);
    } else if (is_grammar && c == '"') {
      const size_t end = skip_to(at, '"');
      add(static_cast<int64_t>(end - at));
      at = end;
    } else if (c == '(') {
      outer.push_back(sum);
      sum = 0;
    } else if (c == ')' && !outer.empty()) {
      const int64_t group = sum;
      sum = outer.back();
      outer.pop_back();
      add(group);
    } else if (c == '{') {
      const size_t end = std::min(text.find('}', at), text.size());
      const int64_t more = last * (repeats_of(text.substr(at + 1, end - at - 1)) - 1);
      last = std::min(last + more, kMaxExpanded + 1);
      sum = std::min(sum + more, kMaxExpanded + 1);
      at = end;
    } else {
      add(1);
    }
  }
  for (const int64_t group : outer) sum = std::min(sum + group, kMaxExpanded + 1);
  return sum;
}

bool is_utf8(const std::string& text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

/// Walks what stands in one constraint; errors name its field.
class Checker {
 public:
  explicit Checker(std::string_view field) : field_(field) {}

  Result<void> text(const std::string& value, size_t most) const {
    if (value.empty()) return make_error("{} is empty", field_);
    if (value.size() > most) {
      return make_error("{} has {} bytes, expected {} at most", field_, value.size(), most);
    }
    if (!is_utf8(value)) return make_error("{} is not UTF-8", field_);
    return {};
  }

  Result<void> regex(const std::string& pattern) const {
    RETURN_IF_ERROR(text(pattern, kMaxRegexBytes));
    return expanded(pattern, /*is_grammar=*/false);
  }

  Result<void> expanded(std::string_view text, bool is_grammar) const {
    if (expanded_size(text, is_grammar) <= kMaxExpanded) return {};
    return make_error("{} repeats too much: written out it has more than {} elements", field_, kMaxExpanded);
  }

  /// That an object's schema does not name too many properties.
  Result<void> properties(const Json& schema) const {
    const auto found = schema.find("properties");
    if (found == schema.end() || !found->is_object()) return {};
    const bool counted = schema.contains("minProperties") || schema.contains("maxProperties");
    const size_t most = counted ? kMaxCountedProperties : kMaxProperties;
    if (found->size() <= most) return {};
    return make_error("{} has an object of {} properties, expected {} at most{}", field_, found->size(), most,
                      counted ? " beside minProperties or maxProperties" : "");
  }

  /// That a schema does not combine others and say more of its own.
  Result<void> combination(const Json& schema) const {
    std::string_view found;
    const auto only = [&](std::string_view key) -> Result<void> {
      if (!schema.contains(key)) return {};
      if (!found.empty()) {
        return make_error("{} has {} beside {}, but answers can be bound to one of them alone", field_, found,
                          key);
      }
      found = key;
      return {};
    };
    for (const std::string_view key : kCombinations) RETURN_IF_ERROR(only(key));
    if (found.empty()) return {};
    for (const std::string_view key : kBounds) RETURN_IF_ERROR(only(key));
    return {};
  }

  /// A schema, or a list of schemas. `strict`: it must be one that can be kept to.
  Result<void> schema(const Json& value, bool strict) const {
    if (value.is_array()) {
      for (const Json& item : value) RETURN_IF_ERROR(schema(item, strict));
      return {};
    }
    if (!value.is_object()) return {};
    RETURN_IF_ERROR(properties(value));
    if (strict) RETURN_IF_ERROR(combination(value));
    for (const auto& [key, member] : value.items()) {
      if (strict && std::find(std::begin(kUnknownKeywords), std::end(kUnknownKeywords), key) !=
                        std::end(kUnknownKeywords)) {
        return make_error("{} has the keyword {}, which answers cannot be bound to", field_, dump_json(key));
      }
      if (key == "enum" || key == "const" || key == "default" || key == "examples") continue;
      if (key == "pattern" && member.is_string())
        RETURN_IF_ERROR(regex(member.get_ref<const std::string&>()));
      if (member.is_object() && (key == "properties" || key == "patternProperties" || key == "$defs" ||
                                 key == "definitions" || key == "dependentSchemas")) {
        for (const auto& [name, one] : member.items()) {
          if (key == "patternProperties") RETURN_IF_ERROR(regex(name));
          RETURN_IF_ERROR(schema(one, strict));
        }
      } else {
        RETURN_IF_ERROR(schema(member, strict));
      }
    }
    return {};
  }

  /// A format of a structural tag, or what stands in one.
  Result<void> format(const Json& value) const {
    if (value.is_array()) {
      for (const Json& item : value) RETURN_IF_ERROR(format(item));
    }
    if (!value.is_object()) return {};
    for (const auto& [key, member] : value.items()) {
      if (key == "json_schema" || key == "schema") {
        RETURN_IF_ERROR(schema(member, /*strict=*/false));
      } else if (key == "pattern" && member.is_string()) {
        RETURN_IF_ERROR(regex(member.get_ref<const std::string&>()));
      } else if (key == "grammar" && member.is_string()) {
        RETURN_IF_ERROR(expanded(member.get_ref<const std::string&>(), /*is_grammar=*/true));
      } else {
        RETURN_IF_ERROR(format(member));
      }
    }
    return {};
  }

 private:
  std::string_view field_;
};

Result<void> check_choices(const std::vector<std::string>& choices) {
  if (choices.empty()) return make_error("choice is empty, expected a text or more");
  if (choices.size() > kMaxChoices) {
    return make_error("choice has {} texts, expected {} at most", choices.size(), kMaxChoices);
  }
  size_t bytes = 0;
  for (const std::string& choice : choices) {
    if (choice.empty()) return make_error("choice has a text that is empty");
    if (!is_utf8(choice)) return make_error("choice has a text that is not UTF-8");
    bytes += choice.size();
  }
  if (bytes > kMaxBytes) return make_error("choice has {} bytes, expected {} at most", bytes, kMaxBytes);
  return {};
}

}  // namespace

Result<void> validate(const Constraint& constraint) {
  const Checker check(constraint_kind_name(constraint.kind));
  const std::string& text = constraint.text;
  switch (constraint.kind) {
    case Kind::json_object: return {};
    case Kind::choice: return check_choices(constraint.choices);
    case Kind::regex: return check.regex(text);
    case Kind::grammar:
      RETURN_IF_ERROR(check.text(text, kMaxBytes));
      return check.expanded(text, /*is_grammar=*/true);
    case Kind::json_schema:
    case Kind::structural_tag: break;
  }
  RETURN_IF_ERROR(check.text(text, kMaxBytes));
  ASSIGN_OR_RETURN(const Json json, parse_json(text, constraint_kind_name(constraint.kind)));
  if (!json.is_object()) {
    return make_error("{} is {}, expected an object", constraint_kind_name(constraint.kind), json_kind(json));
  }
  return constraint.kind == Kind::json_schema ? check.schema(json, /*strict=*/true) : check.format(json);
}

}  // namespace indexshare
