#include "cli/units.h"

#include <charconv>

#include "base/error.h"
#include "cli/app.h"

namespace indexshare::cli {

int64_t parse_tokens(std::string_view flag, std::string_view text, int64_t min, int64_t max) {
  std::string_view digits = text;
  int64_t unit = 1;
  if (!digits.empty() && (digits.back() == 'K' || digits.back() == 'M')) {
    unit = digits.back() == 'K' ? int64_t{1} << 10 : int64_t{1} << 20;
    digits.remove_suffix(1);
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0 || value > max / unit ||
      value * unit < min) {
    refuse_value(flag, text,
                 fmt::format("a number of tokens from {} to {}, such as 131072, 128K or 1M", min, max));
  }
  return value * unit;
}

}  // namespace indexshare::cli
