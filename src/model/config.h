// The model's configuration: config.json of a `glm_moe_dsa` checkpoint, every default and contradiction
// resolved at load, so that nothing later branches on how a file spelled something.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/json.h"
#include "indexshare/result.h"

namespace indexshare {

/// Fields carry the names of config.json.
struct Config {
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;      // of the dense MLPs
  int64_t moe_intermediate_size = 0;  // of one expert
  int64_t num_hidden_layers = 0;
  int64_t num_nextn_predict_layers = 0;  // MTP layers behind the last one

  int64_t num_attention_heads = 0;
  int64_t q_lora_rank = 0;
  int64_t kv_lora_rank = 0;
  int64_t qk_nope_head_dim = 0;
  int64_t qk_rope_head_dim = 0;
  int64_t v_head_dim = 0;
  bool attention_bias = false;

  int64_t index_n_heads = 0;
  int64_t index_head_dim = 0;
  int64_t index_topk = 0;
  bool indexer_rope_interleave = true;
  std::vector<bool> indexer_full;  // [num_hidden_layers] true: builds the index, false: shares the last one

  std::vector<bool> mlp_sparse;  // [num_hidden_layers] true: experts, false: a dense MLP
  int64_t n_routed_experts = 0;
  int64_t num_experts_per_tok = 0;
  int64_t n_shared_experts = 0;
  int64_t n_group = 1;
  int64_t topk_group = 1;
  bool norm_topk_prob = true;
  float routed_scaling_factor = 1.0f;

  float rms_norm_eps = 1e-5f;
  float latent_norm_eps = 1e-6f;  // of q_a_layernorm and kv_a_layernorm; a setting, not in config.json
  float rope_theta = 10000.0f;
  int64_t max_position_embeddings = 0;
  bool tie_word_embeddings = false;
  DType dtype = DType::bf16;  // "dtype" or "torch_dtype": what the checkpoint was trained in

  std::vector<int32_t> eos_token_ids;
  bool stored_fp8 = false;       // whether there is a quantization_config
  int64_t fp8_block_rows = 128;  // quantization_config.weight_block_size
  int64_t fp8_block_cols = 128;

  int64_t qk_head_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }
  int64_t latent_width() const { return kv_lora_rank + qk_rope_head_dim; }  // cached per token and layer
  int64_t full_layers() const;
  std::string schedule() const;  // "FFFSSSF"

  bool operator==(const Config&) const = default;
};

/// A schedule of "FFFSSSF" as Config::indexer_full; nothing unless it is a letter F or S for each layer.
std::optional<std::vector<bool>> schedule_of(std::string_view letters, int64_t layers);

/// Reads a parsed config.json; `source` names it in errors.
Result<Config> parse_config(const SortedJson& json, std::string_view source);

/// Reads config.json from a file, or from the directory that holds it.
Result<Config> load_config(const std::filesystem::path& path);

}  // namespace indexshare
