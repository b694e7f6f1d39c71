// Makes the components that tokenizer.json describes; an unknown one is an error that names it.
#pragma once

#include "text/json_node.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"

namespace indexshare {

// Each takes the whole document.
Result<Normalizer> read_normalizer(const JsonNode& document);
Result<PreTokenizer> read_pre_tokenizer(const JsonNode& document);

/// The decoder must be ByteLevel: bytes joined, then read as UTF-8 (a Fuse behind it changes nothing).
Result<void> check_decoder(const JsonNode& document);

/// Post-processors add tokens around a text, which encode() never does (a chat template writes them), or
/// move offsets; so a known one needs nothing.
Result<void> check_post_processor(const JsonNode& document);

}  // namespace indexshare
