#include "text/jinja/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/jinja/interpreter.h"
#include "text/jinja/numbers.h"
#include "text/jinja/objects.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

constexpr int64_t kMaxPrecision = 1000;

/// How one field is laid out; both mini-languages come down to this.
struct Spec {
  std::string fill = " ";
  char align = '\0';  // < > ^ =, or 0 for the type's own
  bool zero = false;  // 0 before the width: numbers are padded behind their sign
  char sign = '-';    // - + or space
  bool alternate = false;
  char grouping = '\0';  // , or _
  int64_t width = 0;
  int64_t precision = -1;
  char type = '\0';
};

bool is_float_type(char type) {
  return type != '\0' && std::string_view("eEfFgG%").find(type) != std::string_view::npos;
}
bool is_integer_type(char type) {
  return type != '\0' && std::string_view("bcdoxXn").find(type) != std::string_view::npos;
}

void check_precision(int64_t precision) {
  if (precision > kMaxPrecision) fail(fmt::format("a precision above {} is not supported", kMaxPrecision));
}

// Digits with a separator between groups counted from the right.
std::string grouped(std::string_view digits, char separator, size_t group) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) out += separator;
    out += digits[i];
  }
  return out;
}

// sign, prefix and digits padded to the width; `=` (and 0) pads between them.
std::string padded(Budget& budget, const Spec& spec, std::string_view lead, std::string_view body,
                   char own_align) {
  const int64_t size = count_code_points(lead) + count_code_points(body);
  const int64_t missing = std::max<int64_t>(spec.width - size, 0);
  const char align = spec.align != '\0' ? spec.align : spec.zero && own_align == '>' ? '=' : own_align;
  const int64_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  Writer out(budget);
  out.repeat(spec.fill, left);
  out << lead;
  if (align == '=') out.repeat(spec.fill, missing);
  out << body;
  if (align == '<' || align == '^') out.repeat(spec.fill, missing - left);
  return out.take();
}

std::string_view sign_of(bool negative, char sign) {
  return negative ? "-" : sign == '+' ? "+" : sign == ' ' ? " " : "";
}

// Zero padding counts the separators in: digits are added in front until the width is reached.
std::string group_to_width(const Spec& spec, std::string digits, size_t lead, size_t tail, size_t group) {
  std::string out = grouped(digits, spec.grouping, group);
  const bool to_width = spec.align == '=' || (spec.align == '\0' && spec.zero);
  if (spec.fill != "0" || !to_width || spec.width > 10'000) return out;
  while (static_cast<int64_t>(lead + out.size() + tail) < spec.width) {
    digits.insert(digits.begin(), '0');
    out = grouped(digits, spec.grouping, group);
  }
  return out;
}

std::string format_integer(Budget& budget, const Spec& spec, int64_t value) {
  const bool negative = value < 0;
  const uint64_t magnitude =
      negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string digits;
  std::string_view prefix;
  switch (spec.type) {
    case 'b': digits = fmt::format("{:b}", magnitude), prefix = "0b"; break;
    case 'o': digits = fmt::format("{:o}", magnitude), prefix = "0o"; break;
    case 'x': digits = fmt::format("{:x}", magnitude), prefix = "0x"; break;
    case 'X': digits = fmt::format("{:X}", magnitude), prefix = "0X"; break;
    default: digits = fmt::format("{}", magnitude); break;
  }
  const std::string lead =
      std::string(sign_of(negative, spec.sign)) + std::string(spec.alternate ? prefix : "");
  if (spec.grouping != '\0') digits = group_to_width(spec, digits, lead.size(), 0, prefix.empty() ? 3 : 4);
  return padded(budget, spec, lead, digits, '>');
}

std::string float_digits(double magnitude, const Spec& spec) {
  const bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  std::string text;
  if (!std::isfinite(magnitude)) {
    text = std::isnan(magnitude) ? "nan" : "inf";
    if (upper) text = to_upper(text);
    return spec.type == '%' ? text + "%" : text;
  }
  const int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  switch (spec.type) {
    case 'e':
    case 'E':
      text = spec.alternate ? fmt::format("{:#.{}e}", magnitude, precision)
                            : fmt::format("{:.{}e}", magnitude, precision);
      break;
    case 'f':
    case 'F':
      text = spec.alternate ? fmt::format("{:#.{}f}", magnitude, precision)
                            : fmt::format("{:.{}f}", magnitude, precision);
      break;
    case '%': return fmt::format("{:.{}f}%", magnitude * 100, precision);
    case 'g':
    case 'G': {
      const int significant = std::max(precision, 1);
      text = spec.alternate ? fmt::format("{:#.{}g}", magnitude, significant)
                            : fmt::format("{:.{}g}", magnitude, significant);
      break;
    }
    default: break;
  }
  return upper ? to_upper(text) : text;
}

// format(float, "") and format(float, ".3"): like g, but with a digit behind the point.
std::string untyped_float(double magnitude, const Spec& spec) {
  if (spec.precision < 0 || !std::isfinite(magnitude)) return real_repr(magnitude);
  const int significant = static_cast<int>(std::max<int64_t>(spec.precision, 1));
  std::string text = fmt::format("{:.{}g}", magnitude, significant);
  const size_t e = text.find('e');
  if (e != std::string::npos) return text;
  if (text.find('.') != std::string::npos) return text;
  // 1e2 rather than 100.0 where the precision leaves no digit for the fraction.
  if (static_cast<int>(text.size()) >= significant && magnitude >= 1) {
    const std::string scientific = fmt::format("{:.{}e}", magnitude, significant - 1);
    const size_t exponent = scientific.find('e');
    std::string mantissa = scientific.substr(0, exponent);
    if (mantissa.find('.') != std::string::npos) {
      mantissa.erase(mantissa.find_last_not_of('0') + 1);
      if (mantissa.back() == '.') mantissa.pop_back();
    }
    return mantissa + scientific.substr(exponent);
  }
  return text + ".0";
}

std::string format_real(Budget& budget, const Spec& spec, double value) {
  check_precision(spec.precision);
  const bool negative = std::signbit(value) && !std::isnan(value);
  const double magnitude = std::fabs(value);
  std::string digits = spec.type == '\0' ? untyped_float(magnitude, spec) : float_digits(magnitude, spec);
  const std::string_view sign = sign_of(negative, spec.sign);
  if (spec.grouping != '\0' && std::isfinite(value)) {
    const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    const std::string tail = digits.substr(whole);
    digits = group_to_width(spec, digits.substr(0, whole), sign.size(), tail.size(), 3) + tail;
  }
  return padded(budget, spec, sign, digits, '>');
}

std::string format_text(Budget& budget, const Spec& spec, std::string_view text) {
  if (spec.precision >= 0) text = text.substr(0, byte_offset(text, spec.precision));
  return padded(budget, spec, "", text, '<');
}

std::string character(const Value& value) {
  const auto code = value.index();
  if (!code) fail(fmt::format("%c requires int or char, not {}", type_name(value)));
  if (*code < 0 || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000)) fail("%c needs a code point");
  std::string out;
  append_code_point(out, static_cast<char32_t>(*code));
  return out;
}

// --- "%s" % value ---

class PercentFormatter {
 public:
  PercentFormatter(Interpreter& interpreter, const Value& format, const Value& operand)
      : budget_(interpreter.budget()),
        format_(format.text()),
        safe_(format.as_string().safe),
        operand_(operand) {}

  std::string run() {
    Writer out(budget_);
    while (position_ < format_.size()) {
      const size_t percent = std::min(format_.find('%', position_), format_.size());
      out << format_.substr(position_, percent - position_);
      position_ = percent;
      if (percent < format_.size()) out << field();
    }
    const bool used_up = operand_.is_tuple() ? next_ >= operand_.as_sequence().items.size() : next_ > 0;
    // Python takes all that can be subscripted for a mapping, which may hold more than the format names.
    const bool lenient = operand_.is(Kind::dict) || operand_.is_list() || operand_.is(Kind::undefined) ||
                         operand_.object_as<Range>() != nullptr;
    if (!used_up && !lenient && !named_) fail("not all arguments converted during string formatting");
    return out.take();
  }

 private:
  char peek() const {
    if (position_ >= format_.size()) fail("incomplete format");
    return format_[position_];
  }

  Value take() {
    if (operand_.is_tuple()) {
      const Values& items = operand_.as_sequence().items;
      if (next_ >= items.size()) fail("not enough arguments for format string");
      return items[next_++];
    }
    if (next_++ > 0) fail("not enough arguments for format string");
    return operand_;
  }

  Value take_named() {
    if (!operand_.is(Kind::dict)) fail("format requires a mapping");
    named_ = true;
    const size_t begin = ++position_;
    for (int depth = 1; depth > 0; ++position_) {
      const char c = peek();
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
    const std::string_view key = format_.substr(begin, position_ - 1 - begin);
    const Value* value = operand_.as_dict().find(key);
    if (value == nullptr) fail(fmt::format("the format names {}, which is not given", quote_text(key)));
    return *value;
  }

  int64_t number(std::string_view what) {
    if (peek() == '*') {
      ++position_;
      const auto value = take().index();
      if (!value) fail("* wants int");
      return *value;
    }
    int64_t value = 0;
    while (position_ < format_.size() && format_[position_] >= '0' && format_[position_] <= '9') {
      value = value * 10 + (format_[position_++] - '0');
      if (value > std::numeric_limits<int32_t>::max()) fail(fmt::format("the {} is too big", what));
    }
    return value;
  }

  std::string field() {
    ++position_;
    std::optional<Value> named;
    if (peek() == '(') named = take_named();
    Spec spec;
    bool left = false, zero = false;
    for (;; ++position_) {
      const char flag = peek();
      if (flag == '-')
        left = true;
      else if (flag == '0')
        zero = true;
      else if (flag == '+')
        spec.sign = '+';
      else if (flag == ' ')
        spec.sign = spec.sign == '+' ? '+' : ' ';
      else if (flag == '#')
        spec.alternate = true;
      else
        break;
    }
    spec.width = number("width");
    if (spec.width < 0) left = true, spec.width = -spec.width;
    if (peek() == '.') {
      ++position_;
      spec.precision = std::max<int64_t>(number("precision"), 0);
      check_precision(spec.precision);
    }
    if (peek() == 'h' || peek() == 'l' || peek() == 'L') ++position_;
    const char type = peek();
    ++position_;
    if (type == '%') return "%";
    spec.align = left ? '<' : '>';
    return convert(spec, type, zero && !left, named ? *named : take());
  }

  std::string convert(Spec spec, char type, bool zero, const Value& value) {
    switch (type) {
      case 's': return format_text(budget_, spec, shown(value));
      case 'r': return format_text(budget_, spec, repr(budget_, value));
      case 'a': return format_text(budget_, spec, quoted_ascii(value));
      case 'c':
        spec.precision = -1;
        if (value.is(Kind::string) && value.as_string().length == 1) {
          return format_text(budget_, spec, value.text());
        }
        return format_text(budget_, spec, character(value));
      default: break;
    }
    if (zero) spec.fill = "0", spec.align = '=';
    if (std::string_view("diuoxX").find(type) != std::string_view::npos)
      return convert_integer(spec, type, value);
    if (std::string_view("eEfFgG").find(type) != std::string_view::npos) {
      const auto index = value.index();
      if (!index && !value.is(Kind::real)) fail_number(type, value);
      spec.type = type;
      const double real = index ? static_cast<double>(*index) : value.as_real();
      if (!std::isfinite(real) && spec.fill == "0") spec.fill = "0";
      return format_real(budget_, spec, real);
    }
    fail(fmt::format("unsupported format character {}", quote_text(std::string(1, type))));
  }

  std::string convert_integer(Spec spec, char type, const Value& value) {
    std::optional<int64_t> index = value.index();
    if (!index && value.is(Kind::real) && type != 'o' && type != 'x' && type != 'X')
      index = truncate_real(value.as_real());
    if (!index) fail_number(type, value);
    spec.type = type == 'o' || type == 'x' || type == 'X' ? type : 'd';
    if (spec.precision < 0) return format_integer(budget_, spec, *index);
    // A precision is the least number of digits.
    Spec bare;
    bare.type = spec.type;
    std::string digits = format_integer(budget_, bare, std::abs(std::max(*index, -INT64_MAX)));
    const auto wanted = static_cast<size_t>(spec.precision);
    if (digits.size() < wanted) digits.insert(0, wanted - digits.size(), '0');
    std::string lead(sign_of(*index < 0, spec.sign));
    if (spec.alternate && spec.type != 'd') lead += std::string("0") + spec.type;
    return padded(budget_, spec, lead, digits, '>');
  }

  [[noreturn]] static void fail_number(char type, const Value& value) {
    if (value.is(Kind::undefined)) fail(value.as_undefined().message);
    fail(fmt::format("%{} format: a number is required, not {}", type, type_name(value)));
  }

  std::string shown(const Value& value) const {
    return safe_ ? escape(budget_, value).text() : str(budget_, value);
  }

  std::string quoted_ascii(const Value& value) const {
    if (value.is(Kind::string)) return quote_text(value.text(), true);
    const std::string text = quote_text(repr(budget_, value), true);
    return text.substr(1, text.size() - 2);
  }

  Budget& budget_;
  std::string_view format_;
  bool safe_;
  const Value& operand_;
  size_t position_ = 0;
  size_t next_ = 0;     // of the operand's values
  bool named_ = false;  // some field named a key
};

// --- "{}".format(values) ---

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
    if (!filled && accept("0") != '\0') spec.fill = "0", spec.zero = true;
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

Value format_percent(Interpreter& interpreter, const Value& format, const Value& operand) {
  return Value::string(PercentFormatter(interpreter, format, operand).run(), format.as_string().safe);
}

std::string format_braces(Interpreter& interpreter, std::string_view format, const Arguments& arguments) {
  return BraceFormatter(interpreter, arguments).run(format, 1);
}

}  // namespace indexshare::jinja
