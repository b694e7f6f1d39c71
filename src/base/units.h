// Sizes as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace indexshare {

/// "13.58 MB", in powers of 1000.
std::string bytes_text(int64_t bytes);

}  // namespace indexshare
