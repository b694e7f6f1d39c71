// The filters that make text or numbers.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "text/jinja/arguments.h"
#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/json_values.h"
#include "text/jinja/methods.h"
#include "text/jinja/numbers.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

// str(value), but what is safe stays so.
Value soft_string(Interpreter& interpreter, const Value& value) {
  return value.is(Kind::string) ? value : interpreter.string(str(interpreter.budget(), value));
}

template <std::string (*map)(std::string_view)>
Value mapped(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("filter", std::move(arguments), {});
  const Value text = soft_string(interpreter, input);
  return interpreter.string(map(text.text()), text.as_string().safe);
}

// Words begin behind spaces, hyphens and opening brackets, unlike in str.title().
std::string title(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto separates = [&](size_t at) {
      const char32_t c = decode(text, at);
      return is_space(c) || c == U'-' || c == U'(' || c == U'{' || c == U'[' || c == U'<';
    };
    size_t end = i;
    const bool separators = separates(i);
    while (end < text.size() && separates(end) == separators) decode(text, end);
    const std::string_view run = text.substr(i, end - i);
    size_t first = 0;
    decode(run, first);
    out += to_upper(run.substr(0, first)) + to_lower(run.substr(first));
    i = end;
  }
  return out;
}

Value string_filter(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("string", std::move(arguments), {});
  return soft_string(interpreter, input);
}

Value trim(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("trim", std::move(arguments), {"chars"});
  const Value text = soft_string(interpreter, input);
  std::string_view set;
  if (parameters.has(0)) set = parameters.string(0);
  const std::string_view trimmed = strip(text.text(), parameters.has(0) ? &set : nullptr, true, true);
  return interpreter.string(std::string(trimmed), text.as_string().safe);
}

Value replace_filter(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("replace", std::move(arguments), {"old", "new", "count"}, 2);
  Budget& budget = interpreter.budget();
  const int64_t limit = parameters.has(2) ? parameters.integer(2, -1) : -1;
  return Value::string(
      replace(budget, str(budget, input), str(budget, parameters[0]), str(budget, parameters[1]), limit));
}

Value format_filter(Interpreter& interpreter, const Value& input, Arguments arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    fail("format: can't handle positional and keyword arguments at the same time");
  }
  const Value format = soft_string(interpreter, input);
  if (arguments.named.empty())
    return format_percent(interpreter, format, Value::tuple(std::move(arguments.positional)));
  Dict named;
  for (auto& [name, value] : arguments.named) named.set(std::move(name), std::move(value));
  return format_percent(interpreter, format, Value::dict(std::move(named)));
}

Value center_filter(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("center", std::move(arguments), {"width"});
  const Value text = soft_string(interpreter, input);
  return Value::string(center(interpreter.budget(), text.as_string(), parameters.integer(0, 80), " "),
                       text.as_string().safe);
}

Value indent(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("indent", std::move(arguments), {"width", "first", "blank"});
  if (input.is(Kind::undefined)) fail(input.as_undefined().message);
  if (!input.is(Kind::string)) fail(fmt::format("indent needs a string, not {}", type_name(input)));
  Budget& budget = interpreter.budget();
  std::string indention;
  if (parameters.given(0) && parameters[0].is(Kind::string)) {
    indention = parameters[0].text();
  } else {
    Writer spaces(budget);
    spaces.repeat(" ", parameters.integer(0, 4));
    indention = spaces.take();
  }
  const bool blank = parameters.flag(2, false);
  // The added line end makes an empty text one line, and keeps one at the end of the text.
  const std::string text = input.text() + "\n";
  Writer out(budget);
  bool is_first = true;
  for (const std::string_view line : split_lines(text, false)) {
    if (!is_first) out << "\n";
    if (is_first ? parameters.flag(1, false) : blank || !line.empty()) out << indention;
    out << line;
    is_first = false;
  }
  return Value::string(out.take(), input.as_string().safe);
}

Value truncate(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("truncate", std::move(arguments), {"length", "killwords", "end", "leeway"});
  const int64_t size = parameters.integer(0, 255);
  const std::string end = parameters.given(2) ? parameters.string(2) : "...";
  const int64_t leeway = parameters.has(3) ? parameters.integer(3, 5) : 5;
  const int64_t kept = size - count_code_points(end);
  if (kept < 0) fail(fmt::format("truncate: expected length >= {}, got {}", count_code_points(end), size));
  if (leeway < 0) fail(fmt::format("truncate: expected leeway >= 0, got {}", leeway));
  if (length(input) <= checked_add(size, leeway)) return input;
  if (!input.is(Kind::string)) fail(fmt::format("truncate needs a string, not {}", type_name(input)));
  const std::string_view text = std::string_view(input.text()).substr(0, byte_offset(input.text(), kept));
  const size_t space = parameters.flag(1, false) ? std::string_view::npos : text.rfind(' ');
  return interpreter.string(std::string(text.substr(0, space)) + end, input.as_string().safe);
}

Value wordcount(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("wordcount", std::move(arguments), {});
  const Value text = soft_string(interpreter, input);
  int64_t words = 0;
  bool in_word = false;
  for (size_t i = 0; i < text.text().size();) {
    const char32_t c = decode(text.text(), i);
    const bool is_word = is_alnum(c) || c == U'_';
    words += is_word && !in_word;
    in_word = is_word;
  }
  return Value::integer(words);
}

// --- HTML and URLs ---

Value escape_filter(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("escape", std::move(arguments), {});
  return escape(interpreter.budget(), input);
}

Value force_escape(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("forceescape", std::move(arguments), {});
  return escape(interpreter.budget(), Value::string(str(interpreter.budget(), input)));
}

Value safe(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("safe", std::move(arguments), {});
  return interpreter.string(str(interpreter.budget(), input), true);
}

Value xml_attributes(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("xmlattr", std::move(arguments), {"autospace"});
  if (!input.is(Kind::dict)) fail(fmt::format("xmlattr needs a mapping, not {}", type_name(input)));
  Budget& budget = interpreter.budget();
  Writer out(budget);
  bool first = !parameters.flag(0, true);
  for (const auto& [key, value] : input.as_dict().entries()) {
    if (value.is(Kind::none) || value.is(Kind::undefined)) continue;
    if (!key.is(Kind::string))
      fail(fmt::format("xmlattr needs names that are strings, not {}", type_name(key)));
    if (key.text().find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      fail(fmt::format("Invalid character in attribute name: {}", quote_text(key.text())));
    }
    if (!first) out << " ";
    first = false;
    out << escape(budget, key).text() << "=\"" << escape(budget, value).text() << "\"";
  }
  return Value::string(out.take());
}

std::string quoted_for_url(Interpreter& interpreter, const Value& value, bool in_query) {
  std::string out;
  for (const char c : str(interpreter.budget(), value)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !in_query);
    if (plain) {
      out += c;
    } else if (c == ' ' && in_query) {
      out += '+';
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Value urlencode(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("urlencode", std::move(arguments), {});
  if (input.is(Kind::string) || !is_iterable(input))
    return interpreter.string(quoted_for_url(interpreter, input, false));
  Writer out(interpreter.budget());
  bool first = true;
  const Values items =
      input.is(Kind::dict)
          ? iterate(interpreter, interpreter.call(get_attribute(interpreter, input, "items"), {}))
          : iterate(interpreter, input);
  for (const Value& item : items) {
    const Values pair = iterate(interpreter, item);
    if (pair.size() != 2) fail("urlencode needs pairs of a key and a value");
    if (!first) out << "&";
    first = false;
    out << quoted_for_url(interpreter, pair[0], true) << "=" << quoted_for_url(interpreter, pair[1], true);
  }
  return Value::string(out.take());
}

// --- numbers ---

// int(text, base), where any complaint about the base is as good as one about the text.
std::optional<int64_t> integer_in(const std::string& text, const Value& base) {
  const auto index = base.index();
  return index ? parse_integer(text, static_cast<int>(std::clamp<int64_t>(*index, -1, 99))) : std::nullopt;
}

Value to_integer(Interpreter&, const Value& input, Arguments arguments) {
  const Parameters parameters("int", std::move(arguments), {"default", "base"});
  if (input.is(Kind::undefined)) fail(input.as_undefined().message);
  if (const auto index = input.index()) return Value::integer(*index);
  if (input.is(Kind::big_integer)) return input;
  std::optional<double> real;
  if (input.is(Kind::real)) {
    real = input.as_real();
  } else if (input.is(Kind::string)) {
    const auto value = integer_in(input.text(), parameters.get(1, Value::integer(10)));
    if (value) return Value::integer(*value);
    real = parse_real(input.text());  // "42.5" makes 42
  }
  if (real && std::isfinite(*real)) return Value::integer(truncate_real(*real));
  return parameters.get(0, Value::integer(0));
}

Value to_float(Interpreter&, const Value& input, Arguments arguments) {
  const Parameters parameters("float", std::move(arguments), {"default"});
  if (input.is(Kind::undefined)) fail(input.as_undefined().message);
  if (const auto index = input.index()) return Value::real(static_cast<double>(*index));
  if (input.is(Kind::big_integer)) return Value::real(static_cast<double>(input.as_big_integer()));
  if (input.is(Kind::real)) return input;
  if (input.is(Kind::string)) {
    if (const auto value = parse_real(input.text())) return Value::real(*value);
  }
  return parameters.get(0, Value::real(0.0));
}

Value absolute(Interpreter&, const Value& input, Arguments arguments) {
  const Parameters parameters("abs", std::move(arguments), {});
  if (const auto index = input.index())
    return *index < 0 ? apply(UnaryOperator::minus, input) : Value::integer(*index);
  if (input.is(Kind::real)) return Value::real(std::fabs(input.as_real()));
  if (input.is(Kind::undefined)) fail(input.as_undefined().message);
  fail(fmt::format("bad operand type for abs(): '{}'", type_name(input)));
}

Value round_filter(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("round", std::move(arguments), {"precision", "method"});
  const std::string method = parameters.given(1) ? parameters.string(1) : "common";
  if (method == "common" && parameters.given(0) && !parameters.has(0) && input.is(Kind::real)) {
    return Value::integer(truncate_real(round_real(input.as_real(), 0)));  // round(x, None) makes an int
  }
  const int64_t precision = parameters.has(0) ? parameters.integer(0, 0) : 0;
  if (method == "common") {
    if (const auto index = input.index()) return Value::integer(round_integer(*index, precision));
    if (input.is(Kind::real)) return Value::real(round_real(input.as_real(), precision));
    if (input.is(Kind::undefined)) fail(input.as_undefined().message);
    fail(fmt::format("type {} cannot be rounded", type_name(input)));
  }
  if (method != "ceil" && method != "floor") fail("method must be common, ceil or floor");
  const Value unit = apply(interpreter, BinaryOperator::power, Value::integer(10), Value::integer(precision));
  const Value scaled = apply(interpreter, BinaryOperator::multiply, input, unit);
  Value whole = scaled;
  if (scaled.is(Kind::real)) {
    whole = Value::integer(
        truncate_real(method == "ceil" ? std::ceil(scaled.as_real()) : std::floor(scaled.as_real())));
  } else if (!scaled.index()) {
    fail(fmt::format("type {} cannot be rounded", type_name(input)));
  }
  return apply(interpreter, BinaryOperator::divide, whole, unit);
}

Value file_size(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("filesizeformat", std::move(arguments), {"binary"});
  const Value number = to_float(interpreter, input, {{Value()}, {}});
  if (number.is(Kind::none)) fail(fmt::format("filesizeformat needs a number, not {}", type_name(input)));
  const double bytes = number.as_real();
  const bool binary = parameters.flag(0, false);
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return Value::string("1 Byte");
  if (bytes < base) return Value::string(fmt::format("{} Bytes", truncate_real(bytes)));
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  for (size_t i = 0;; ++i) {
    unit *= base;
    if (bytes < unit || i + 1 == kPrefixes.size()) {
      const char prefix = binary && i == 0 ? 'K' : kPrefixes[i];
      return Value::string(fmt::format("{:.1f} {}{}", base * bytes / unit, prefix, binary ? "iB" : "B"));
    }
  }
}

Value tojson(Interpreter& interpreter, const Value& input, Arguments arguments) {
  const Parameters parameters("tojson", std::move(arguments),
                              {"ensure_ascii", "indent", "separators", "sort_keys"});
  Budget& budget = interpreter.budget();
  JsonStyle style;
  style.ensure_ascii = parameters.flag(0, false);
  if (parameters.has(1)) {
    if (parameters[1].is(Kind::string)) {
      style.indent = parameters[1].text();
    } else {
      Writer spaces(budget);
      spaces.repeat(" ", parameters.integer(1, 0));
      style.indent = spaces.take();
    }
  }
  style.item_separator = style.indent ? "," : ", ";
  style.key_separator = ": ";
  if (parameters.has(2)) {
    const Values separators = iterate(interpreter, parameters[2]);
    if (separators.size() != 2 || !separators[0].is(Kind::string) || !separators[1].is(Kind::string)) {
      fail("tojson needs two strings as separators");
    }
    style.item_separator = separators[0].text();
    style.key_separator = separators[1].text();
  }
  style.sort_keys = parameters.flag(3, false);
  Writer out(budget);
  write_json(out, input, style);
  return Value::string(out.take());
}

Value unsupported(Interpreter&, const Value&, Arguments) {
  fail("the filters pprint, random, striptags, urlize and wordwrap are not supported in a chat template");
}

constexpr NamedFilter kFilters[] = {
    {"abs", absolute},
    {"capitalize", mapped<to_capitalized>},
    {"center", center_filter},
    {"e", escape_filter},
    {"escape", escape_filter},
    {"filesizeformat", file_size},
    {"float", to_float},
    {"forceescape", force_escape},
    {"format", format_filter},
    {"indent", indent},
    {"int", to_integer},
    {"lower", mapped<to_lower>},
    {"pprint", unsupported},
    {"random", unsupported},
    {"replace", replace_filter},
    {"round", round_filter},
    {"safe", safe},
    {"string", string_filter},
    {"striptags", unsupported},
    {"title", mapped<title>},
    {"tojson", tojson},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", mapped<to_upper>},
    {"urlencode", urlencode},
    {"urlize", unsupported},
    {"wordcount", wordcount},
    {"wordwrap", unsupported},
    {"xmlattr", xml_attributes},
};

}  // namespace

std::span<const NamedFilter> text_filters() {
  return kFilters;
}

}  // namespace indexshare::jinja
