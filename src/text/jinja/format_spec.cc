#include "text/jinja/format_spec.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

constexpr int64_t kMaxPrecision = 1000;

// Digits with a separator between groups counted from the right.
std::string grouped(std::string_view digits, char separator, size_t group) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) out += separator;
    out += digits[i];
  }
  return out;
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

}  // namespace

bool is_float_type(char type) {
  return type != '\0' && std::string_view("eEfFgG%").find(type) != std::string_view::npos;
}
bool is_integer_type(char type) {
  return type != '\0' && std::string_view("bcdoxXn").find(type) != std::string_view::npos;
}

void check_precision(int64_t precision) {
  if (precision > kMaxPrecision) fail(fmt::format("a precision above {} is not supported", kMaxPrecision));
}

// sign, prefix and digits padded to the width; `=` (and 0) pads between them.
std::string pad_field(Budget& budget, const Spec& spec, std::string_view lead, std::string_view body,
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
  return pad_field(budget, spec, lead, digits, '>');
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
  return pad_field(budget, spec, sign, digits, '>');
}

std::string format_text(Budget& budget, const Spec& spec, std::string_view text) {
  if (spec.precision >= 0) text = text.substr(0, byte_offset(text, spec.precision));
  return pad_field(budget, spec, "", text, '<');
}

std::string character(const Value& value) {
  const auto code = value.index();
  if (!code) fail(fmt::format("%c requires int or char, not {}", type_name(value)));
  if (*code < 0 || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000)) fail("%c needs a code point");
  std::string out;
  append_code_point(out, static_cast<char32_t>(*code));
  return out;
}

}  // namespace indexshare::jinja
