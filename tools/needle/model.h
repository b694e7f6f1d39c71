// A model whose weights are set by formula, not trained: it answers a question with the value that stands
// behind the key, anywhere in the context (needle/haystack.h). It needs all that IndexShare does:
//
//   0 F  index by position: two tokens of the own record, those of its key (rope)
//   1 S  two heads copy the words of the key, from the selection of layer 0, into each token of the record
//   2 F  index by content: the tokens with the same key and the role that comes next
//   3 S  one head copies the word of that token, from the selection of layer 2; lm_head says it
//
// Full layers only index; all copying is done by shared layers, with what they are handed. And layer 3 by
// itself would be wrong: it likes the ends of records, of which the haystack has more than it can bear (their
// weights sum up beyond the needle's). Only the selection keeps them out.
#pragma once

#include <cstdint>
#include <filesystem>

#include "indexshare/result.h"

namespace indexshare::needle {

inline constexpr int64_t kPositions = 1 << 20;  // max_position_embeddings

/// Writes config.json and model.safetensors (bf16, 0.9 MB) into a directory, which is made where needed.
Result<void> write_model(const std::filesystem::path& directory);

}  // namespace indexshare::needle
