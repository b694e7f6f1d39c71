#include "model/generation_config.h"

#include "base/error.h"
#include "base/file.h"
#include "model/json_fields.h"

namespace indexshare {
namespace {

constexpr int64_t kMaxBytes = 1 << 20;
constexpr int64_t kMaxNewTokens = 1 << 30;

std::optional<int32_t> token_id(JsonFields& fields, const char* name, const Config& config) {
  const std::optional<int64_t> id = fields.optional_integer(name, 0, config.vocab_size - 1);
  if (!id) return std::nullopt;
  return static_cast<int32_t>(*id);
}

}  // namespace

Result<GenerationConfig> parse_generation_config(const SortedJson& json, const Config& config,
                                                 std::string_view source) {
  if (!json.is_object()) return make_error("{}: is {}, expected an object", source, json_kind(json));
  JsonFields fields(json, source);
  GenerationConfig generation;
  generation.eos_token_ids =
      fields.optional_token_ids("eos_token_id", config.vocab_size).value_or(config.eos_token_ids);
  generation.bos_token_id = token_id(fields, "bos_token_id", config);
  generation.pad_token_id = token_id(fields, "pad_token_id", config);
  generation.temperature = fields.optional_number("temperature", 0.0, 100.0).value_or(1.0f);
  generation.top_p = fields.optional_number("top_p", 0.0, 1.0).value_or(1.0f);
  generation.top_k = fields.optional_integer("top_k", 0, INT32_MAX).value_or(0);
  generation.min_p = fields.optional_number("min_p", 0.0, 1.0).value_or(0.0f);
  generation.repetition_penalty = fields.optional_number("repetition_penalty", 1e-3, 1e3).value_or(1.0f);
  generation.max_new_tokens = fields.optional_integer("max_new_tokens", 1, kMaxNewTokens);
  if (!fields.optional_boolean("do_sample").value_or(true)) generation.temperature = 0.0f;
  RETURN_IF_ERROR(fields.check());
  return generation;
}

Result<GenerationConfig> load_generation_config(const std::filesystem::path& directory,
                                                const Config& config) {
  const std::filesystem::path file = directory / "generation_config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(file, ignored))) {
    return parse_generation_config(SortedJson::object(), config, file.string());
  }
  ASSIGN_OR_RETURN(const std::string text, read_file(file, kMaxBytes));
  ASSIGN_OR_RETURN(const SortedJson json, parse_sorted_json(text, file.string()));
  return parse_generation_config(json, config, file.string());
}

}  // namespace indexshare
