// How a model asks to be sampled: generation_config.json beside config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "indexshare/result.h"
#include "model/config.h"

namespace indexshare {

/// What a request that does not say otherwise gets. The defaults sample from the model's own distribution.
struct GenerationConfig {
  std::vector<int32_t> eos_token_ids;  // of this file; where it has none, those of config.json
  std::optional<int32_t> bos_token_id;
  std::optional<int32_t> pad_token_id;
  float temperature = 1.0f;  // 0, the most probable token always, where the file says do_sample: false
  float top_p = 1.0f;
  int64_t top_k = 0;  // 0: all tokens
  float min_p = 0.0f;
  float repetition_penalty = 1.0f;
  std::optional<int64_t> max_new_tokens;
};

/// Reads a parsed generation_config.json; `source` names it in errors.
Result<GenerationConfig> parse_generation_config(const SortedJson& json, const Config& config,
                                                 std::string_view source);

/// Reads generation_config.json of a directory; where there is none, the defaults.
Result<GenerationConfig> load_generation_config(const std::filesystem::path& directory, const Config& config);

}  // namespace indexshare
