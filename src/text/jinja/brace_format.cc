// "{}".format(values).
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "text/jinja/format.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/numbers.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

class BraceFormatter {
 public:
  BraceFormatter(Interpreter& interpreter, const Arguments& arguments)
      : interpreter_(interpreter), budget_(interpreter.budget()), arguments_(arguments) {}

  std::string run(std::string_view format, int depth) {
    if (depth > 2) fail("Max string recursion exceeded");
    Writer out(budget_);
    for (size_t i = 0; i < format.size();) {
      const char c = format[i];
      const size_t plain = std::min(format.find_first_of("{}", i), format.size());
      if (plain > i) {
        out << format.substr(i, plain - i);
        i = plain;
      } else if (i + 1 < format.size() && format[i + 1] == c) {
        out << format.substr(i, 1);
        i += 2;
      } else if (c == '}') {
        fail("Single '}' encountered in format string");
      } else {
        const size_t end = field_end(format, i + 1);
        out << field(format.substr(i + 1, end - i - 1), depth);
        i = end + 1;
      }
    }
    return out.take();
  }

 private:
  static size_t field_end(std::string_view format, size_t i) {
    int depth = 1;
    for (; i < format.size(); ++i) {
      if (format[i] == '[' && depth == 1) {
        const size_t close = format.find(']', i);
        if (close != std::string_view::npos) i = close;
      }
      depth += format[i] == '{' ? 1 : format[i] == '}' ? -1 : 0;
      if (depth == 0) return i;
    }
    fail("expected '}' before end of string");
  }

  // name[!conversion][:spec]
  std::string field(std::string_view text, int depth) {
    const size_t name_end = name_size(text);
    const Value value = look_up(text.substr(0, name_end));
    text.remove_prefix(name_end);
    char conversion = '\0';
    if (text.starts_with('!')) {
      if (text.size() < 2 || (text.size() > 2 && text[2] != ':'))
        fail("expected ':' after conversion specifier");
      conversion = text[1];
      text.remove_prefix(2);
    }
    const std::string spec = text.empty() ? "" : run(text.substr(1), depth + 1);
    switch (conversion) {
      case '\0': return format_value(value, spec);
      case 's': return format_text(budget_, parse(spec), str(budget_, value));
      case 'r': return format_text(budget_, parse(spec), repr(budget_, value));
      case 'a': {
        const std::string shown = quote_text(repr(budget_, value), true);
        const std::string plain =
            value.is(Kind::string) ? quote_text(value.text(), true) : shown.substr(1, shown.size() - 2);
        return format_text(budget_, parse(spec), plain);
      }
      default: fail(fmt::format("Unknown conversion specifier {}", quote_text(std::string(1, conversion))));
    }
  }

  static size_t name_size(std::string_view text) {
    size_t i = 0;
    for (; i < text.size() && text[i] != ':' && text[i] != '!'; ++i) {
      if (text[i] == '[') i = std::min(text.find(']', i), text.size() - 1);
    }
    return i;
  }

  Value look_up(std::string_view path) {
    const size_t first_end = std::min(path.find_first_of(".["), path.size());
    Value value = first(path.substr(0, first_end));
    path.remove_prefix(first_end);
    while (!path.empty()) {
      if (path[0] == '.') {
        const size_t end = std::min(path.find_first_of(".[", 1), path.size());
        if (end == 1) fail("Empty attribute in format string");
        value = get_attribute(interpreter_, value, path.substr(1, end - 1));
        path.remove_prefix(end);
      } else {
        const size_t close = path[0] == '[' ? path.find(']') : std::string_view::npos;
        if (close == std::string_view::npos || close == 1)
          fail("a subscript in the format string is not complete");
        const std::string_view key = path.substr(1, close - 1);
        const bool number = key.find_first_not_of("0123456789") == std::string_view::npos;
        value = get_item(interpreter_, value,
                         number ? Value::integer(*parse_integer(key, 10)) : Value::string(std::string(key)));
        path.remove_prefix(close + 1);
      }
    }
    return value;
  }

  Value first(std::string_view name) {
    const bool number = name.find_first_not_of("0123456789") == std::string_view::npos;
    if (!number) {
      for (const auto& [key, value] : arguments_.named) {
        if (key == name) return value;
      }
      fail(fmt::format("the format names {}, which is not given", quote_text(name)));
    }
    // Fields are numbered by hand or automatically, not both.
    const Numbering wanted = name.empty() ? Numbering::automatic : Numbering::manual;
    if (numbering_ != Numbering::open && numbering_ != wanted) {
      fail("cannot switch between manual and automatic field numbering");
    }
    numbering_ = wanted;
    const int64_t i = name.empty() ? next_++ : *parse_integer(name, 10);
    if (i >= static_cast<int64_t>(arguments_.positional.size())) {
      fail("Replacement index out of range for positional args tuple");
    }
    return arguments_.positional[static_cast<size_t>(i)];
  }

  std::string format_value(const Value& value, const std::string& spec_text) {
    if (spec_text.empty()) return str(budget_, value);
    Spec spec = parse(spec_text);
    if (value.is(Kind::string)) {
      if (spec.type != '\0' && spec.type != 's') fail_type(spec.type, value);
      if (spec.align == '=') fail("'=' alignment not allowed in string format specifier");
      if (spec.sign != '-' || spec.alternate || spec.grouping != '\0')
        fail("the specifier does not fit a string");
      return format_text(budget_, spec, value.text());
    }
    const auto index = value.index();
    if (index && (spec.type == '\0' || is_integer_type(spec.type)) &&
        !(value.is(Kind::boolean) && spec.type == '\0')) {
      if (spec.precision >= 0) fail("Precision not allowed in integer format specifier");
      if (spec.type == 'c') return format_text(budget_, spec, character(value));
      return format_integer(budget_, spec, *index);
    }
    if (value.is(Kind::boolean) && spec.type == '\0') return format_integer(budget_, spec, *index);
    if ((index || value.is(Kind::real)) && (spec.type == '\0' || is_float_type(spec.type))) {
      return format_real(budget_, spec, index ? static_cast<double>(*index) : value.as_real());
    }
    if (index || value.is(Kind::real)) fail_type(spec.type, value);
    fail(fmt::format("unsupported format string passed to {}.__format__", type_name(value)));
  }

  [[noreturn]] static void fail_type(char type, const Value& value) {
    fail(fmt::format("Unknown format code '{}' for object of type '{}'", type, type_name(value)));
  }

  // [[fill]align][sign][#][0][width][grouping][.precision][type]
  static Spec parse(std::string_view text) {
    Spec spec;
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    size_t i = 0;
    bool filled = false;
    if (!text.empty()) {
      size_t after = 0;
      decode(text, after);
      if (after < text.size() && is_align(text[after])) {
        spec.fill = text.substr(0, after);
        spec.align = text[after];
        filled = true;
        i = after + 1;
      } else if (is_align(text[0])) {
        spec.align = text[i++];
      }
    }
    const auto accept = [&](std::string_view wanted) {
      return i < text.size() && wanted.find(text[i]) != std::string_view::npos ? text[i++] : '\0';
    };
    const auto number = [&](int64_t otherwise) {
      if (i >= text.size() || text[i] < '0' || text[i] > '9') return otherwise;
      int64_t value = 0;
      for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
        value = value * 10 + (text[i] - '0');
        if (value > std::numeric_limits<int32_t>::max()) fail("Too many decimal digits in format string");
      }
      return value;
    };
    if (const char sign = accept("+- "); sign != '\0') spec.sign = sign;
    spec.alternate = accept("#") != '\0';
    if (!filled && accept("0") != '\0') spec.fill = '0', spec.zero = true;
    spec.width = number(0);
    spec.grouping = accept(",_");
    if (accept(".") != '\0') {
      spec.precision = number(-1);
      if (spec.precision < 0) fail("Format specifier missing precision");
    }
    if (i < text.size()) spec.type = text[i++];
    if (i < text.size()) fail("Invalid format specifier");
    return spec;
  }

  enum class Numbering : uint8_t { open, automatic, manual };

  Interpreter& interpreter_;
  Budget& budget_;
  const Arguments& arguments_;
  Numbering numbering_ = Numbering::open;
  int64_t next_ = 0;
};

}  // namespace

std::string format_braces(Interpreter& interpreter, std::string_view format, const Arguments& arguments) {
  return BraceFormatter(interpreter, arguments).run(format, 1);
}

}  // namespace indexshare::jinja
