// Token ids in files, as `indexshare tokenize` prints them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model_runner.h"
#include "indexshare/result.h"

namespace indexshare::cli {

/// Ids with blanks, commas or line ends between them; brackets around them are allowed. "-" reads the
/// standard input.
Result<std::vector<int32_t>> read_token_file(const std::string& path);

/// As read_token_file, of a file's text; `source` names it in errors.
Result<std::vector<int32_t>> parse_token_file(std::string_view text, std::string_view source);

/// Plain text to ids, without a chat template. Fails where the model has no tokenizer.
Result<std::vector<int32_t>> encode_plain(const ModelRunner& runner, std::string_view text);

}  // namespace indexshare::cli
