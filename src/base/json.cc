#include "base/json.h"

#include <set>
#include <vector>

#include "base/error.h"

namespace indexshare {
namespace {

template <typename J>
Result<J> parse(std::string_view text, std::string_view source) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  std::string problem;
  auto watch = [&](int depth, nlohmann::json::parse_event_t event, auto& value) {
    using Event = nlohmann::json::parse_event_t;
    if (depth > kMaxJsonDepth && problem.empty()) {
      problem = fmt::format("nesting deeper than {} levels", kMaxJsonDepth);
    }
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end && !keys.empty()) keys.pop_back();
    if (event == Event::key && !keys.empty()) {
      const auto& key = value.template get_ref<const std::string&>();
      if (!keys.back().insert(key).second && problem.empty()) {
        problem = fmt::format("the key \"{}\" stands twice in one object", key);
      }
    }
    return problem.empty();  // false: the value is dropped, so that a hostile text stays small
  };
  try {
    J json = J::parse(text.begin(), text.end(),
                      [&](int depth, typename J::parse_event_t event, J& value) {
                        return watch(depth, static_cast<nlohmann::json::parse_event_t>(event), value);
                      });
    if (!problem.empty()) return make_error("{}: {}", source, problem);
    return json;
  } catch (const std::exception& e) {
    return make_error("{}: not valid JSON: {}", source, e.what());
  }
}

template <typename J>
std::string_view kind(const J& json) {
  using Type = nlohmann::json::value_t;
  switch (static_cast<Type>(json.type())) {
    case Type::null: return "null";
    case Type::object: return "an object";
    case Type::array: return "an array";
    case Type::string: return "a string";
    case Type::boolean: return "a boolean";
    case Type::number_integer:
    case Type::number_unsigned: return "an integer";
    case Type::number_float: return "a number";
    default: return "something else";
  }
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view source) {
  return parse<Json>(text, source);
}

Result<SortedJson> parse_sorted_json(std::string_view text, std::string_view source) {
  return parse<SortedJson>(text, source);
}

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string_view json_kind(const Json& json) { return kind(json); }
std::string_view json_kind(const SortedJson& json) { return kind(json); }

}  // namespace indexshare
