// The alphabet in which byte-level vocabularies spell bytes: printable ones as themselves (Latin-1), the
// other 68 as U+0100 onwards in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace indexshare {

/// Appends the bytes that `spelling` (valid UTF-8) stands for; false, and `out` as it was, if it holds a
/// character outside the alphabet.
bool append_spelled_bytes(std::string_view spelling, std::string& out);

/// The spelling of `bytes`.
std::string spell_bytes(std::string_view bytes);

}  // namespace indexshare
