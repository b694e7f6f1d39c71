// Numbers as text: literals of templates, int() and float(), round().
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "text/jinja/value.h"

namespace indexshare::jinja {

struct NumberToken {
  size_t size = 0;             // bytes read
  std::optional<Value> value;  // nullopt for an integer beyond 64 bits
};

/// The literal that `text`, whose first character is a digit, begins with.
NumberToken scan_number(std::string_view text, bool allow_float);

/// int(text, base) and float(text): nullopt where Python raises ValueError. An integer beyond 64 bits fails.
std::optional<int64_t> parse_integer(std::string_view text, int base);
std::optional<double> parse_real(std::string_view text);

/// int(value) for a float; fails for infinities and NaN, and beyond 64 bits.
int64_t truncate_real(double value);

/// round(value, digits): half to even, decided on the exact decimal expansion.
double round_real(double value, int64_t digits);
int64_t round_integer(int64_t value, int64_t digits);

}  // namespace indexshare::jinja
