#include "text/jinja/json_values.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

Value text_value(Budget& budget, const std::string& text) {
  if (!is_valid_utf8(text)) fail("a text among the variables is not valid UTF-8");
  budget.bytes(static_cast<int64_t>(text.size() + sizeof(String)));
  return Value::string(text);
}

Value convert(Budget& budget, const Json& json, int depth) {
  if (depth > kMaxValueDepth)
    fail(fmt::format("the variables are nested deeper than {} levels", kMaxValueDepth));
  budget.bytes(sizeof(Value));
  switch (json.type()) {
    case Json::value_t::boolean: return Value::boolean(json.get<bool>());
    case Json::value_t::number_integer: return Value::integer(json.get<int64_t>());
    case Json::value_t::number_unsigned: return Value::unsigned_integer(json.get<uint64_t>());
    case Json::value_t::number_float: return Value::real(json.get<double>());
    case Json::value_t::string: return text_value(budget, json.get_ref<const std::string&>());
    case Json::value_t::array: {
      Values items;
      for (const Json& item : json) items.push_back(convert(budget, item, depth + 1));
      return Value::list(std::move(items));
    }
    case Json::value_t::object: {
      Dict dict;
      for (const auto& [key, value] : json.items()) {
        dict.set(budget, text_value(budget, key), convert(budget, value, depth + 1));
      }
      return Value::dict(std::move(dict));
    }
    default: return {};
  }
}

void write_escaped(Writer& out, std::string_view text, bool ascii) {
  const auto escape_unit = [&](uint32_t unit) { out << fmt::format("\\u{:04x}", unit); };
  out << "\"";
  size_t plain = 0;  // begin of what needs no escape
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const auto c = static_cast<uint32_t>(decode(text, i));
    if (c >= 0x20 && c != '"' && c != '\\' && (!ascii || c < 0x7f)) continue;
    out << text.substr(plain, begin - plain);
    plain = i;
    switch (c) {
      case '"': out << "\\\""; break;
      case '\\': out << "\\\\"; break;
      case '\n': out << "\\n"; break;
      case '\r': out << "\\r"; break;
      case '\t': out << "\\t"; break;
      case '\f': out << "\\f"; break;
      case '\b': out << "\\b"; break;
      default:
        if (c < 0x10000) {
          escape_unit(c);
        } else {
          escape_unit(0xd800 + ((c - 0x10000) >> 10));
          escape_unit(0xdc00 + ((c - 0x10000) & 0x3ff));
        }
    }
  }
  out << text.substr(plain) << "\"";
}

class JsonWriter {
 public:
  JsonWriter(Writer& out, const JsonStyle& style) : out_(out), style_(style) {}

  void write(const Value& value) {
    out_.budget().step();
    switch (value.kind()) {
      case Kind::string: return write_escaped(out_, value.text(), style_.ensure_ascii);
      case Kind::sequence: return write_list(value.as_sequence().items);
      case Kind::dict: return write_dict(value.as_dict());
      default: break;
    }
    const auto scalar = scalar_text(value);
    if (!scalar) fail(fmt::format("Object of type {} is not JSON serializable", type_name(value)));
    out_ << *scalar;
  }

 private:
  static std::optional<std::string> scalar_text(const Value& value) {
    switch (value.kind()) {
      case Kind::none: return "null";
      case Kind::boolean: return value.as_boolean() ? "true" : "false";
      case Kind::integer: return fmt::format("{}", value.as_integer());
      case Kind::big_integer: return fmt::format("{}", value.as_big_integer());
      case Kind::real:
        if (std::isnan(value.as_real())) return "NaN";
        if (std::isinf(value.as_real())) return value.as_real() < 0 ? "-Infinity" : "Infinity";
        return real_repr(value.as_real());
      default: return std::nullopt;
    }
  }

  void new_line() {
    if (!style_.indent) return;
    out_ << "\n";
    out_.repeat(*style_.indent, level_);
  }

  void write_list(const Values& items) {
    if (items.empty()) {
      out_ << "[]";
      return;
    }
    out_ << "[";
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ << style_.item_separator;
      new_line();
      write(items[i]);
    }
    --level_;
    new_line();
    out_ << "]";
  }

  void write_dict(const Dict& dict) {
    if (dict.size() == 0) {
      out_ << "{}";
      return;
    }
    std::vector<Dict::Entry> entries = dict.entries();
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) {
        return ordered(out_.budget(), Order::less, a.first, b.first);
      });
    }
    out_ << "{";
    ++level_;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_ << style_.item_separator;
      new_line();
      write_key(entries[i].first);
      out_ << style_.key_separator;
      write(entries[i].second);
    }
    --level_;
    new_line();
    out_ << "}";
  }

  void write_key(const Value& key) {
    if (key.is(Kind::string)) return write_escaped(out_, key.text(), style_.ensure_ascii);
    const auto text = scalar_text(key);
    if (!text) fail(fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
    out_ << "\"" << *text << "\"";
  }

  Writer& out_;
  const JsonStyle& style_;
  int64_t level_ = 0;
};

}  // namespace

Value to_value(Budget& budget, const Json& json) {
  return convert(budget, json, 0);
}

void write_json(Writer& out, const Value& value, const JsonStyle& style) {
  JsonWriter(out, style).write(value);
}

}  // namespace indexshare::jinja
