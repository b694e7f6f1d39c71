// Laying out one field of a format: what "%5.2f" and "{:>5.2f}" have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace indexshare::jinja {

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

bool is_float_type(char type);
bool is_integer_type(char type);
/// Fails for a precision beyond what is supported.
void check_precision(int64_t precision);

std::string format_integer(Budget& budget, const Spec& spec, int64_t value);
std::string format_real(Budget& budget, const Spec& spec, double value);
std::string format_text(Budget& budget, const Spec& spec, std::string_view text);

/// lead (a sign, a prefix) and body up to the width; `own_align` serves when the spec has none.
std::string pad_field(Budget& budget, const Spec& spec, std::string_view lead, std::string_view body,
                      char own_align);
/// "-", or what `sign` says for a number that is not negative.
std::string_view sign_of(bool negative, char sign);
/// The character that a number names (%c).
std::string character(const Value& value);

}  // namespace indexshare::jinja
