// "%s" % value.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "text/jinja/format.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/numbers.h"
#include "text/jinja/objects.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

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
    if (zero) spec.fill = '0', spec.align = '=';
    if (std::string_view("diuoxX").find(type) != std::string_view::npos)
      return convert_integer(spec, type, value);
    if (std::string_view("eEfFgG").find(type) != std::string_view::npos) {
      const auto index = value.index();
      if (!index && !value.is(Kind::real)) fail_number(type, value);
      spec.type = type;
      const double real = index ? static_cast<double>(*index) : value.as_real();
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
    if (spec.alternate && spec.type != 'd') {
      lead += '0';
      lead += spec.type;
    }
    return pad_field(budget_, spec, lead, digits, '>');
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

}  // namespace

Value format_percent(Interpreter& interpreter, const Value& format, const Value& operand) {
  return Value::string(PercentFormatter(interpreter, format, operand).run(), format.as_string().safe);
}

}  // namespace indexshare::jinja
