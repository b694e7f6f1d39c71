#include "text/jinja/numbers.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

int digit_value(char c) {
  if (is_ascii_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}

// Length of digits of `base` at the front, single underscores between them allowed.
size_t digits_size(std::string_view text, int base) {
  size_t size = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && i == size && i > 0) continue;
    if (digit_value(text[i]) >= base) break;
    size = i + 1;
  }
  return size;
}

std::string without_underscores(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '_') out += c;
  }
  return out;
}

double real_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc::result_out_of_range) return value;
  // Too large becomes infinity, too small zero; the sign of the exponent or the leading zero tells which.
  const size_t e = text.find_first_of("eE");
  const bool tiny =
      e != std::string::npos ? text[e + 1] == '-' : text.find_first_not_of("-0.") > text.find('.');
  const double magnitude = tiny ? 0.0 : std::numeric_limits<double>::infinity();
  return text[0] == '-' ? -magnitude : magnitude;
}

std::optional<int64_t> integer_of(std::string_view digits, int base) {
  const std::string plain = without_underscores(digits);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value, base);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

// Decimal digits of other scripts as ASCII, other characters beyond ASCII as something no number has.
std::string ascii_digits(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = decode(text, i);
    const int value = c < 0x80 ? -1 : decimal_value(c);
    out += value >= 0 ? static_cast<char>('0' + value) : c < 0x80 ? static_cast<char>(c) : '?';
  }
  return out;
}

// The size of `digits [. digits] [e digits]`, or 0 when it is no float.
size_t real_size(std::string_view text, bool lenient) {
  const size_t whole = digits_size(text, 10);
  size_t size = whole;
  bool real = false;
  if (size < text.size() && text[size] == '.') {
    const size_t fraction = digits_size(text.substr(size + 1), 10);
    if (fraction > 0 || (lenient && whole > 0)) {
      size += 1 + fraction;
      real = true;
    }
  }
  if (size > 0 && size < text.size() && (text[size] | 0x20) == 'e') {
    size_t exponent = size + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    if (const size_t count = digits_size(text.substr(exponent), 10); count > 0) {
      size = exponent + count;
      real = true;
    }
  }
  return real || lenient ? size : 0;
}

}  // namespace

NumberToken scan_number(std::string_view text, bool allow_float) {
  if (allow_float) {
    if (const size_t size = real_size(text, false); size > 0) {
      return {size, Value::real(real_of(without_underscores(text.substr(0, size))))};
    }
  }
  if (text.size() > 2 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    const int base = letter == 'b' ? 2 : letter == 'o' ? 8 : letter == 'x' ? 16 : 0;
    const size_t skip = text[2] == '_' ? 3 : 2;
    if (base != 0) {
      if (const size_t size = digits_size(text.substr(skip), base); size > 0) {
        const auto value = integer_of(text.substr(skip, size), base);
        return {skip + size, value ? std::optional(Value::integer(*value)) : std::nullopt};
      }
    }
  }
  // 0 does not begin a longer number: 012 is two tokens, which the parser refuses.
  const size_t size =
      text[0] == '0' ? digits_size(text.substr(0, text.find_first_not_of("0_")), 10) : digits_size(text, 10);
  const auto value = integer_of(text.substr(0, size), 10);
  return {size, value ? std::optional(Value::integer(*value)) : std::nullopt};
}

std::optional<int64_t> parse_integer(std::string_view text, int base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  const std::string ascii = ascii_digits(strip(text));
  std::string_view digits = ascii;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const char letter = digits.size() > 1 && digits[0] == '0' ? static_cast<char>(digits[1] | 0x20) : '\0';
  const int prefixed = letter == 'b' ? 2 : letter == 'o' ? 8 : letter == 'x' ? 16 : 0;
  if (prefixed != 0 && (base == 0 || base == prefixed)) {
    base = prefixed;
    digits.remove_prefix(digits.size() > 2 && digits[2] == '_' ? 3 : 2);
  } else if (base == 0) {
    base = 10;
    if (digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of("0_") != std::string_view::npos) {
      return std::nullopt;
    }
  }
  if (digits.empty() || digits_size(digits, base) != digits.size()) return std::nullopt;
  const auto value = integer_of((negative ? "-" : "") + std::string(digits), base);
  if (!value) fail(fmt::format("the integer {} does not fit 64 bits", ascii.substr(0, 40)));
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  const std::string ascii = ascii_digits(strip(text));
  std::string_view number = ascii;
  const bool negative = number.starts_with('-');
  if (negative || number.starts_with('+')) number.remove_prefix(1);
  const double sign = negative ? -1.0 : 1.0;
  const std::string word = to_lower(number);
  if (word == "inf" || word == "infinity") return sign * std::numeric_limits<double>::infinity();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (number.empty() || real_size(number, true) != number.size()) return std::nullopt;
  return sign * real_of(without_underscores(number));
}

int64_t truncate_real(double value) {
  if (std::isnan(value)) fail("cannot convert float NaN to integer");
  if (std::isinf(value)) fail("cannot convert float infinity to integer");
  if (value >= 0x1p63 || value < -0x1p63) fail("a number does not fit a 64-bit integer");
  return static_cast<int64_t>(value);
}

double round_real(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 330) return value;
  if (digits < -310) return std::copysign(0.0, value);
  if (digits >= 0) {
    // printf rounds the exact value half to even, as Python does.
    return real_of(fmt::format("{:.{}f}", value, digits));
  }
  const double unit = std::pow(10.0, static_cast<double>(-digits));
  const double rounded = std::nearbyint(value / unit) * unit;
  if (std::isinf(rounded)) fail("rounded value too large to represent");
  return rounded;
}

int64_t round_integer(int64_t value, int64_t digits) {
  if (digits >= 0) return value;
  if (digits < -18) return 0;
  int64_t unit = 1;
  for (int64_t i = digits; i < 0; ++i) unit *= 10;
  const int64_t rest = ((value % unit) + unit) % unit;
  const int64_t down = checked_add(value, -rest);
  const bool up = rest > unit / 2 || (rest == unit / 2 && (down / unit) % 2 != 0);
  return up ? checked_add(down, unit) : down;
}

}  // namespace indexshare::jinja
