#include "cli/bench_model.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "model/random_weights.h"

namespace indexshare::cli {
namespace {

// The shape of GLM-5.2 (its config.json without what a benchmark does not need).
constexpr std::string_view kGlm52 = R"({
  "model_type": "glm_moe_dsa", "dtype": "bfloat16", "vocab_size": 154880, "hidden_size": 6144,
  "intermediate_size": 12288, "moe_intermediate_size": 2048, "num_hidden_layers": 78, "num_attention_heads": 64,
  "q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256,
  "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048, "index_topk_freq": 4, "index_skip_topk_offset": 3,
  "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3,
  "routed_scaling_factor": 2.5, "max_position_embeddings": 1048576, "num_nextn_predict_layers": 0,
  "rope_parameters": {"rope_theta": 8000000, "rope_type": "default"}, "eos_token_id": [154820]})";

Result<Config> config_of(const BenchGeometry& geometry) {
  if (geometry.source != "glm-5.2") return load_config(geometry.source);
  ASSIGN_OR_RETURN(const SortedJson json, parse_sorted_json(kGlm52, "glm-5.2"));
  return parse_config(json, "glm-5.2");
}

// The geometry with what the flags change but for the pattern. Where layers are cut, all have experts.
Result<Config> changed_config(const BenchGeometry& geometry) {
  ASSIGN_OR_RETURN(Config config, config_of(geometry));
  if (geometry.vocab > 0) config.vocab_size = geometry.vocab;
  if (geometry.experts > 0) config.n_routed_experts = geometry.experts;
  config.num_experts_per_tok =
      geometry.experts_per_token > 0
          ? geometry.experts_per_token
          : std::min(config.num_experts_per_tok, std::max<int64_t>(1, config.n_routed_experts / 4));
  if (config.num_experts_per_tok > config.n_routed_experts) {
    return make_error("--experts-per-token is {}, but there are {} experts", config.num_experts_per_tok,
                      config.n_routed_experts);
  }
  config.num_nextn_predict_layers = 0;
  if (geometry.layers > 0) {
    config.num_hidden_layers = geometry.layers;
    config.mlp_sparse.assign(static_cast<size_t>(geometry.layers), true);
  }
  return config;
}

Config with_pattern(Config config, std::string_view pattern) {
  config.indexer_full.resize(static_cast<size_t>(config.num_hidden_layers));
  for (size_t i = 0; i < config.indexer_full.size(); ++i) {
    config.indexer_full[i] = pattern[i % pattern.size()] == 'F';
  }
  return config;
}

}  // namespace

Result<BenchModel> BenchModel::random(const BenchGeometry& geometry, int64_t longest,
                                      const EngineOptions& options, const std::vector<int>& threads) {
  ASSIGN_OR_RETURN(Config config, changed_config(geometry));
  config.max_position_embeddings = std::max(config.max_position_embeddings, longest);
  std::vector<Config> configs;
  for (const std::string& pattern : geometry.patterns) configs.push_back(with_pattern(config, pattern));
  if (configs.empty()) configs.push_back(geometry.layers > 0 ? with_pattern(config, "FSSS") : config);

  Config all = configs.front();  // full wherever one of them is
  for (const Config& other : configs) {
    for (size_t i = 0; i < all.indexer_full.size(); ++i) {
      if (other.indexer_full[i]) all.indexer_full[i] = true;
    }
  }
  WaitingLine waiting("making random weights");
  ASSIGN_OR_RETURN(Weights weights, random_weights(all, geometry.dtype, 1));
  return BenchModel(options, std::move(weights), std::move(configs), threads);
}

Result<BenchModel> BenchModel::load(const std::string& directory, const EngineOptions& options,
                                    const std::vector<int>& threads) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelRunner> runner, load_runner(directory, options));
  return BenchModel(options, runner->model().weights(), {runner->config()}, threads);
}

BenchModel::BenchModel(EngineOptions options, Weights weights, std::vector<Config> configs,
                       const std::vector<int>& threads)
    : options_(std::move(options)), weights_(std::move(weights)), configs_(std::move(configs)) {
  for (size_t schedule = 0; schedule < configs_.size(); ++schedule) {
    for (const int count : threads) variants_.push_back({.schedule = schedule, .threads = count});
  }
}

Result<std::unique_ptr<ModelRunner>> BenchModel::runner(const BenchVariant& variant) const {
  const Config& config = configs_[variant.schedule];
  Weights weights = weights_;  // views; what they show is not copied
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    if (!config.indexer_full[i]) weights.layers[i].self_attn.indexer.reset();
  }
  EngineOptions options = options_;
  options.threads = variant.threads;
  return ModelRunner::create(config, std::move(weights), options);
}

}  // namespace indexshare::cli
