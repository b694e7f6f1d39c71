#include "engine/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "checkpoint/bind_weights.h"

namespace indexshare {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int64_t kMaxChunk = 65536;

Result<void> check(const EngineOptions& options, const Config& config) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return make_error("threads is {}, expected 0 (one per processor) to {}", options.threads, kMaxThreads);
  }
  if (options.chunk < 1 || options.chunk > kMaxChunk) {
    return make_error("chunk is {}, expected 1 to {} tokens", options.chunk, kMaxChunk);
  }
  if (options.context < 0 || options.context > config.max_position_embeddings) {
    return make_error("context is {}, but the model was made for at most {} tokens (max_position_embeddings)",
                      options.context, config.max_position_embeddings);
  }
  if (options.cache_bytes < 0)
    return make_error("cache_bytes is {}, expected 0 or more", options.cache_bytes);
  if (!(options.latent_norm_eps > 0 && options.latent_norm_eps < 1)) {
    return make_error("latent_norm_eps is {}, expected a number between 0 and 1", options.latent_norm_eps);
  }
  if (options.cache_dtype && options.cache_dtype != DType::f32 && options.cache_dtype != DType::bf16) {
    return make_error("cache dtype is {}, expected f32 or bf16", dtype_name(*options.cache_dtype));
  }
  return {};
}

// Whether any big matrix is stored with bf16's precision or less.
bool is_low_precision(const Weights& weights) {
  const DType embed = weights.embed_tokens.dtype;
  const DType first = weights.layers.front().self_attn.q_b_proj.dtype;
  return embed == DType::bf16 || first == DType::bf16 || first == DType::fp8_e4m3;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(Config config, Weights weights, const EngineOptions& options) {
  RETURN_IF_ERROR(check(options, config));
  ASSIGN_OR_RETURN(const cpu::Kernels* kernels, cpu::choose_kernels());
  auto engine = std::unique_ptr<Engine>(new Engine());
  EngineOptions& o = engine->options_;
  o = options;
  if (o.threads == 0) o.threads = std::min(available_cpus(), kMaxThreads);
  if (o.context == 0) o.context = config.max_position_embeddings;
  if (!o.compute) o.compute = is_low_precision(weights) ? ComputeType::bf16 : ComputeType::f32;
  if (!o.cache_dtype) o.cache_dtype = *o.compute == ComputeType::bf16 ? DType::bf16 : DType::f32;
  config.latent_norm_eps = o.latent_norm_eps;
  engine->generation_config_.eos_token_ids = config.eos_token_ids;
  engine->backend_ = std::make_unique<cpu::CpuBackend>(*kernels, o.threads, *o.compute);
  engine->model_ = std::make_unique<Model>(std::move(config), std::move(weights), *engine->backend_);
  engine->pool_ = std::make_unique<PagePool>(engine->model_->cache_layout(*o.cache_dtype), o.cache_bytes);
  engine->collect_markers();
  return engine;
}

Result<std::unique_ptr<Engine>> Engine::load(const std::filesystem::path& directory,
                                             const EngineOptions& options) {
  ASSIGN_OR_RETURN(Config config, load_config(directory));
  ASSIGN_OR_RETURN(GenerationConfig generation_config, load_generation_config(directory, config));
  std::optional<Tokenizer> tokenizer;
  if (const auto file = directory / "tokenizer.json"; std::filesystem::exists(file)) {
    ASSIGN_OR_RETURN(tokenizer, Tokenizer::load(file));
    if (tokenizer->vocab_size() > config.vocab_size) {
      return make_error("{} has {} tokens, more than vocab_size {} of config.json", file.string(),
                        tokenizer->vocab_size(), config.vocab_size);
    }
  }
  ASSIGN_OR_RETURN(std::optional<ChatTemplate> chat_template, load_chat_template(directory));
  ASSIGN_OR_RETURN(std::shared_ptr<const Checkpoint> checkpoint, Checkpoint::open(directory));
  ASSIGN_OR_RETURN(Weights weights, bind_weights(config, checkpoint));
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, create(std::move(config), std::move(weights), options));
  engine->generation_config_ = std::move(generation_config);
  engine->tokenizer_ = std::move(tokenizer);
  engine->chat_template_ = std::move(chat_template);
  engine->checkpoint_ = std::move(checkpoint);
  engine->collect_markers();
  return engine;
}

void Engine::collect_markers() {
  stop_ids_ = generation_config_.eos_token_ids;
  for (const int32_t id : config().eos_token_ids) stop_ids_.push_back(id);
  if (tokenizer_) {
    for (const char* marker : {"<|endoftext|>", "<|user|>", "<|observation|>"}) {
      if (const auto id = tokenizer_->token_id(marker)) stop_ids_.push_back(*id);
    }
    markers_ = {.think = tokenizer_->token_id("<think>"), .end_think = tokenizer_->token_id("</think>")};
  }
  std::sort(stop_ids_.begin(), stop_ids_.end());
  stop_ids_.erase(std::unique(stop_ids_.begin(), stop_ids_.end()), stop_ids_.end());
}

Tensor Engine::forward(const Batch& batch, Probe* probe) {
  const auto rows = static_cast<int64_t>(batch.logit_rows.size());
  logits_.resize(rows * config().vocab_size);
  const Tensor logits(logits_.data(), rows, config().vocab_size);
  model_->forward(batch, workspace_, logits, probe);
  return logits;
}

}  // namespace indexshare
