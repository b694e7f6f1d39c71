// Text that a command is given: in files, on the standard input, or typed.
#pragma once

#include <string>
#include <string_view>

#include "indexshare/result.h"

namespace indexshare::cli {

/// The contents of a file, or of the standard input for "-".
Result<std::string> read_input(const std::string& path);

/// How errors name it.
std::string name_of_input(const std::string& path);

/// As read_input, for text: refuses what is empty or no UTF-8.
Result<std::string> read_text(const std::string& path);

/// `source` names the text in the error.
Result<void> check_text(std::string_view text, std::string_view source);

}  // namespace indexshare::cli
