// Counts of tokens as people write them; sizes in bytes are base's.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace indexshare::cli {

/// A count of tokens in [min, max]: "131072", "128K" or "1M", where K is 1024 and M is 1024 K. For use while
/// arguments are read: refuses what it does not understand.
int64_t parse_tokens(std::string_view flag, std::string_view text, int64_t min, int64_t max);

}  // namespace indexshare::cli
