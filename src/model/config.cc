#include "model/config.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "model/json_fields.h"

namespace indexshare {
namespace {

constexpr int64_t kMaxConfigBytes = 16 << 20;

// Far beyond any model of the family, and small enough that no product of sizes overflows (all experts of
// all layers stay below 2^58 bytes) and that the list of their tensors fits in memory.
constexpr int64_t kMaxVocab = 1 << 24;
constexpr int64_t kMaxHidden = 1 << 17;
constexpr int64_t kMaxIntermediate = 1 << 20;
constexpr int64_t kMaxExpertIntermediate = 1 << 17;
constexpr int64_t kMaxLayers = 1 << 9;
constexpr int64_t kMaxHeads = 1 << 10;
constexpr int64_t kMaxRank = 1 << 16;
constexpr int64_t kMaxHeadDim = 1 << 12;
constexpr int64_t kMaxExperts = 1 << 10;
constexpr int64_t kMaxSharedExperts = 1 << 6;
constexpr int64_t kMaxTopK = 1 << 20;
constexpr int64_t kMaxPositions = 1 << 30;
constexpr int64_t kMaxBlock = 1 << 16;

// The fallbacks are those of transformers' GlmMoeDsaConfig.

void read_sizes(JsonFields& fields, Config& config) {
  config.vocab_size = fields.integer("vocab_size", 154880, 1, kMaxVocab);
  config.hidden_size = fields.integer("hidden_size", 6144, 1, kMaxHidden);
  config.intermediate_size = fields.integer("intermediate_size", 12288, 1, kMaxIntermediate);
  config.num_hidden_layers = fields.integer("num_hidden_layers", 78, 1, kMaxLayers);
  config.num_nextn_predict_layers = fields.optional_integer("num_nextn_predict_layers", 0, 1).value_or(0);
  config.max_position_embeddings = fields.integer("max_position_embeddings", 202752, 1, kMaxPositions);
  config.rms_norm_eps = fields.number("rms_norm_eps", 1e-5f, 1e-12, 1.0);
  config.tie_word_embeddings = fields.boolean("tie_word_embeddings", false);
  fields.require("hidden_act", "silu");
}

/// `head_dim` is not read: released files disagree about it and the model does not use it. Nor is
/// `num_key_value_heads`: latent attention has no key-value heads.
void read_attention(JsonFields& fields, Config& config) {
  config.num_attention_heads = fields.integer("num_attention_heads", 64, 1, kMaxHeads);
  config.q_lora_rank = fields.integer("q_lora_rank", 2048, 1, kMaxRank);
  config.kv_lora_rank = fields.integer("kv_lora_rank", 512, 1, kMaxRank);
  config.qk_nope_head_dim = fields.integer("qk_nope_head_dim", 192, 1, kMaxHeadDim);
  config.qk_rope_head_dim = fields.integer("qk_rope_head_dim", 64, 2, kMaxHeadDim);
  config.v_head_dim = fields.integer("v_head_dim", 256, 1, kMaxHeadDim);
  config.attention_bias = fields.boolean("attention_bias", false);
  if (config.qk_rope_head_dim % 2 != 0) fields.refuse("qk_rope_head_dim", "an even number: RoPE turns pairs");
  fields.require("qk_head_dim", config.qk_head_dim());
  fields.require("rope_interleave", true);
}

/// Which layers build an index, by the rules that transformers applies, in their order.
void read_schedule(JsonFields& fields, Config& config) {
  const int64_t layers = config.num_hidden_layers;
  const int64_t freq =
      std::max<int64_t>(fields.optional_integer("index_topk_freq", 0, kMaxLayers).value_or(1), 1);
  const int64_t offset = fields.optional_integer("index_skip_topk_offset", 0, kMaxLayers).value_or(2);

  const char* rule = "indexer_types";
  std::optional<std::vector<bool>> full = fields.optional_choices(rule, layers, "full", "shared");
  if (!full) {
    rule = "index_topk_pattern";
    const SortedJson* pattern = fields.find(rule);
    if (pattern != nullptr && pattern->is_string()) {
      full = schedule_of(pattern->get_ref<const std::string&>(), layers);
      if (!full)
        fields.refuse(rule, fmt::format("{} letters, F (full) or S (shared) for each layer", layers));
    } else {
      full = fields.optional_choices(rule, layers, "full", "shared");
    }
  }
  if (!full) {
    rule = "index_skip_topk_offset";
    full.emplace();
    for (int64_t i = 0; i < layers; ++i) full->push_back(std::max<int64_t>(i - offset + 1, 0) % freq == 0);
  }
  if (full->empty() || !full->front()) {
    fields.fail(fmt::format(
        "\"{}\" makes layer 0 a shared layer, but no layer before it has an index to share", rule));
  }
  config.indexer_full = std::move(*full);
}

void read_indexer(JsonFields& fields, Config& config) {
  config.index_n_heads = fields.integer("index_n_heads", 32, 1, kMaxHeads);
  config.index_head_dim = fields.integer("index_head_dim", 128, 1, kMaxHeadDim);
  config.index_topk = fields.integer("index_topk", 2048, 1, kMaxTopK);
  config.indexer_rope_interleave = fields.boolean("indexer_rope_interleave", true);
  if (config.qk_rope_head_dim > config.index_head_dim) {
    fields.refuse("index_head_dim",
                  fmt::format("at least the qk_rope_head_dim of {}", config.qk_rope_head_dim));
  }
  read_schedule(fields, config);
}

/// `num_experts` overrides `n_routed_experts`, as in transformers; `num_local_experts` is another name of it.
int64_t read_routed_experts(JsonFields& fields) {
  const std::optional<int64_t> override = fields.optional_integer("num_experts", 1, kMaxExperts);
  const std::optional<int64_t> alias = fields.optional_integer("num_local_experts", 1, kMaxExperts);
  const int64_t named = fields.integer("n_routed_experts", alias.value_or(256), 1, kMaxExperts);
  if (override) return *override;
  if (alias && *alias != named) {
    fields.refuse("num_local_experts", fmt::format("the n_routed_experts of {}", named));
  }
  return named;
}

void read_experts(JsonFields& fields, Config& config) {
  config.moe_intermediate_size = fields.integer("moe_intermediate_size", 2048, 1, kMaxExpertIntermediate);
  config.n_routed_experts = read_routed_experts(fields);
  config.n_shared_experts = fields.integer("n_shared_experts", 1, 0, kMaxSharedExperts);
  config.num_experts_per_tok = fields.integer("num_experts_per_tok", 8, 1, kMaxExperts);
  config.n_group = fields.integer("n_group", 1, 1, kMaxExperts);
  config.topk_group = fields.integer("topk_group", 1, 1, kMaxExperts);
  config.norm_topk_prob = fields.boolean("norm_topk_prob", true);
  config.routed_scaling_factor = fields.number("routed_scaling_factor", 2.5f, 1e-6, 1e6);
  fields.require("scoring_func", "sigmoid");
  fields.require("topk_method", "noaux_tc");
  fields.require("moe_layer_freq", 1);
  fields.require("mlp_bias", false);

  if (config.n_routed_experts % config.n_group != 0) {
    fields.refuse("n_group", fmt::format("a divisor of the {} routed experts", config.n_routed_experts));
  }
  const int64_t group = config.n_routed_experts / config.n_group;
  if (config.n_group > 1 && group < 2) {
    fields.refuse("n_group", "at least 2 experts per group: a group is ranked by its best two");
  }
  if (config.topk_group > config.n_group) {
    fields.refuse("topk_group", fmt::format("at most the n_group of {}", config.n_group));
  }
  if (config.num_experts_per_tok > config.topk_group * group) {
    fields.refuse("num_experts_per_tok",
                  fmt::format("at most {}, the experts of {} of {} groups", config.topk_group * group,
                              config.topk_group, config.n_group));
  }

  const int64_t layers = config.num_hidden_layers;
  const int64_t dense = fields.optional_integer("first_k_dense_replace", 0, kMaxLayers).value_or(3);
  std::optional<std::vector<bool>> sparse =
      fields.optional_choices("mlp_layer_types", layers, "sparse", "dense");
  if (!sparse) {
    sparse.emplace();
    for (int64_t i = 0; i < layers; ++i) sparse->push_back(i >= dense);
  }
  config.mlp_sparse = std::move(*sparse);
}

/// `rope_parameters` as newer files have it, or `rope_theta` and `rope_scaling` beside the other fields.
Result<void> read_rope(JsonFields& fields, std::string_view source, Config& config) {
  constexpr double kMinTheta = 1.0, kMaxTheta = 1e12;
  const std::optional<float> theta = fields.optional_number("rope_theta", kMinTheta, kMaxTheta);
  config.rope_theta = theta.value_or(10000.0f);
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    const SortedJson* object = fields.optional_object(name);
    if (object == nullptr) continue;
    JsonFields rope(*object, source, fmt::format("{}.", name));
    rope.require("rope_type", "default");
    rope.require("type", "default");
    rope.require("partial_rotary_factor", 1.0);
    const std::optional<float> inner = rope.optional_number("rope_theta", kMinTheta, kMaxTheta);
    if (inner && theta && *inner != *theta) {
      rope.refuse("rope_theta", fmt::format("the {} that \"rope_theta\" says", *theta));
    }
    if (inner) config.rope_theta = *inner;
    RETURN_IF_ERROR(rope.check());
  }
  return {};
}

Result<void> read_quantization(JsonFields& fields, std::string_view source, Config& config) {
  const SortedJson* object = fields.optional_object("quantization_config");
  if (object == nullptr) return {};
  JsonFields quantization(*object, source, "quantization_config.");
  config.stored_fp8 = true;
  const auto method = quantization.optional_string("quant_method");
  if (method != "fp8") quantization.refuse("quant_method", "\"fp8\"");
  quantization.require("fmt", "e4m3");
  quantization.require("activation_scheme", "dynamic");
  if (const SortedJson* block = quantization.find("weight_block_size")) {
    const auto valid = [](const SortedJson& size) {
      return size.is_number_integer() && size >= 1 && size <= kMaxBlock;
    };
    if (block->is_array() && block->size() == 2 && valid((*block)[0]) && valid((*block)[1])) {
      config.fp8_block_rows = (*block)[0].get<int64_t>();
      config.fp8_block_cols = (*block)[1].get<int64_t>();
    } else {
      quantization.refuse("weight_block_size", fmt::format("two integers from 1 to {}", kMaxBlock));
    }
  }
  return quantization.check();
}

void read_dtype(JsonFields& fields, Config& config) {
  constexpr std::pair<std::string_view, DType> kNames[] = {
      {"bfloat16", DType::bf16}, {"float16", DType::f16}, {"float32", DType::f32}};
  const char* field = fields.find("dtype") != nullptr ? "dtype" : "torch_dtype";
  std::string name = fields.optional_string(field).value_or("bfloat16");
  if (name.starts_with("torch.")) name.erase(0, 6);
  const auto* known = std::ranges::find(kNames, name, &std::pair<std::string_view, DType>::first);
  if (known != std::end(kNames)) {
    config.dtype = known->second;
  } else {
    fields.refuse(field, "\"bfloat16\", \"float16\" or \"float32\"");
  }
}

}  // namespace

int64_t Config::full_layers() const {
  return std::ranges::count(indexer_full, true);
}

std::string Config::schedule() const {
  std::string letters;
  for (const bool full : indexer_full) letters += full ? 'F' : 'S';
  return letters;
}

std::optional<std::vector<bool>> schedule_of(std::string_view letters, int64_t layers) {
  if (std::ssize(letters) != layers || letters.find_first_not_of("FS") != std::string_view::npos)
    return std::nullopt;
  std::vector<bool> full;
  for (const char letter : letters) full.push_back(letter == 'F');
  return full;
}

Result<Config> parse_config(const SortedJson& json, std::string_view source) {
  if (!json.is_object()) return make_error("{}: is {}, expected an object", source, json_kind(json));
  JsonFields fields(json, source);
  const auto model_type = fields.optional_string("model_type");
  if (model_type != "glm_moe_dsa") fields.refuse("model_type", "\"glm_moe_dsa\"");
  RETURN_IF_ERROR(fields.check());

  Config config;
  read_sizes(fields, config);
  read_attention(fields, config);
  read_indexer(fields, config);
  read_experts(fields, config);
  read_dtype(fields, config);
  RETURN_IF_ERROR(read_rope(fields, source, config));
  RETURN_IF_ERROR(read_quantization(fields, source, config));
  if (const SortedJson* eos = fields.find("eos_token_id"); eos == nullptr) {
    if (config.vocab_size > 1) config.eos_token_ids = {1};
  } else {
    config.eos_token_ids =
        fields.optional_token_ids("eos_token_id", config.vocab_size).value_or(std::vector<int32_t>());
  }
  RETURN_IF_ERROR(fields.check());
  return config;
}

Result<Config> load_config(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file =
      std::filesystem::is_directory(path, ignored) ? path / "config.json" : path;
  ASSIGN_OR_RETURN(const std::string text, read_file(file, kMaxConfigBytes));
  ASSIGN_OR_RETURN(const SortedJson json, parse_sorted_json(text, file.string()));
  return parse_config(json, file.string());
}

}  // namespace indexshare
