#include "base/json.h"

#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"

namespace indexshare {
namespace {

// Two bytes of text can be a value that takes fifty times as many in memory.
constexpr size_t kMaxValues = size_t{1} << 22;

/// Builds the value while it is read. The library's own filtering parser searches a container's members
/// again after each of them, and its ordered objects search all keys for each new one: quadratic both.
template <typename J>
class Builder final : public nlohmann::json_sax<J> {
 public:
  explicit Builder(J& root) : root_(root) {}
  const std::string& problem() const { return problem_; }

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(typename J::number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(typename J::number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(typename J::number_float_t value, const std::string&) override {
    return add(value) != nullptr;
  }
  bool string(std::string& value) override { return add(std::move(value)) != nullptr; }
  bool binary(typename J::binary_t&) override { return false; }  // not in JSON text

  bool start_object(size_t) override { return open(J::object()); }
  bool start_array(size_t) override { return open(J::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    auto& members = open_.back().value->template get_ref<typename J::object_t&>();
    bool added = false;
    if constexpr (std::is_same_v<J, Json>) {
      added = open_.back().keys.insert(key).second;
      if (added) member_ = &members.emplace_back(std::move(key), nullptr).second;
    } else {
      const auto [member, is_new] = members.emplace(key, nullptr);
      added = is_new;
      member_ = &member->second;
    }
    if (!added) problem_ = fmt::format("the key \"{}\" stands twice in one object", key);
    return added;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& e) override {
    problem_ = fmt::format("not valid JSON: {}", e.what());
    return false;
  }

 private:
  struct Open {
    J* value;                              // stays put: only the innermost container grows
    std::unordered_set<std::string> keys;  // of an ordered object
  };

  /// Puts a value where the text stands: in the innermost array, under the last key, or at the root.
  J* add(J value) {
    if (++values_ > kMaxValues) {
      problem_ = fmt::format("more than {} values", kMaxValues);
      return nullptr;
    }
    if (open_.empty()) return &(root_ = std::move(value));
    J& parent = *open_.back().value;
    if (parent.is_object()) return &(*member_ = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool open(J container) {
    if (open_.size() == kMaxJsonDepth) {
      problem_ = fmt::format("nesting deeper than {} levels", kMaxJsonDepth);
      return false;
    }
    J* const value = add(std::move(container));
    if (value != nullptr) open_.push_back({value, {}});
    return value != nullptr;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  J& root_;
  J* member_ = nullptr;  // the value of the last key
  std::vector<Open> open_;
  size_t values_ = 0;
  std::string problem_;
};

template <typename J>
Result<J> parse(std::string_view text, std::string_view source) {
  // The library takes a byte of zero for the end of the text, whatever follows it.
  if (text.find('\0') != std::string_view::npos) {
    return make_error("{}: not valid JSON: a byte of zero", source);
  }
  try {
    J json;
    Builder<J> builder(json);
    if (!J::sax_parse(text.begin(), text.end(), &builder))
      return make_error("{}: {}", source, builder.problem());
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

std::string_view json_kind(const Json& json) {
  return kind(json);
}
std::string_view json_kind(const SortedJson& json) {
  return kind(json);
}

}  // namespace indexshare
