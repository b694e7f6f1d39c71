#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "checkpoint/bind_weights.h"

namespace indexshare {

Result<std::unique_ptr<Engine>> Engine::create(Config config, Weights weights, const EngineOptions& options) {
  return build(std::move(config), std::move(weights), options, /*mapped=*/false, /*tokenizer_bytes=*/0);
}

Result<std::unique_ptr<Engine>> Engine::build(Config config, Weights weights, const EngineOptions& options,
                                              bool mapped, int64_t tokenizer_bytes) {
  ASSIGN_OR_RETURN(const cpu::Kernels* kernels, cpu::choose_kernels());
  ASSIGN_OR_RETURN(EngineOptions o, resolve_options(options, config, weights));
  const CacheLayout layout = cache_layout(config, *o.cache_dtype, o.index_keys);
  const auto plan = [&] {
    return plan_memory(config, weights, *kernels, o,
                       {.context = o.context, .batch = 1, .tokenizer_bytes = tokenizer_bytes});
  };
  const int64_t memory = memory_limit(o);
  RETURN_IF_ERROR(fit_memory(plan(), layout, memory, mapped, /*asked=*/options.context > 0, o));
  auto engine = std::unique_ptr<Engine>(new Engine());
  engine->options_ = o;
  engine->memory_plan_ = plan();
  engine->memory_bytes_ = memory;
  config.latent_norm_eps = o.latent_norm_eps;
  engine->generation_config_.eos_token_ids = config.eos_token_ids;
  engine->backend_ = std::make_unique<cpu::CpuBackend>(*kernels, o.threads, *o.compute, o.numa_nodes);
  engine->model_ = std::make_unique<Model>(std::move(config), std::move(weights), *engine->backend_);
  engine->pool_ = std::make_unique<PagePool>(layout, o.cache_bytes, /*spread=*/o.numa_nodes > 1);
  engine->collect_markers();
  return engine;
}

Result<std::unique_ptr<Engine>> Engine::load(const std::filesystem::path& directory,
                                             const EngineOptions& options) {
  ASSIGN_OR_RETURN(Config config, load_config(directory));
  ASSIGN_OR_RETURN(GenerationConfig generation_config, load_generation_config(directory, config));
  std::optional<Tokenizer> tokenizer;
  int64_t tokenizer_bytes = 0;
  if (const auto file = directory / "tokenizer.json"; std::filesystem::exists(file)) {
    ASSIGN_OR_RETURN(tokenizer, Tokenizer::load(file));
    std::error_code ignored;
    tokenizer_bytes = static_cast<int64_t>(std::filesystem::file_size(file, ignored));
    if (tokenizer->vocab_size() > config.vocab_size) {
      return make_error("{} has {} tokens, more than vocab_size {} of config.json", file.string(),
                        tokenizer->vocab_size(), config.vocab_size);
    }
  }
  ASSIGN_OR_RETURN(std::optional<ChatTemplate> chat_template, load_chat_template(directory));
  ASSIGN_OR_RETURN(std::shared_ptr<const Checkpoint> checkpoint, Checkpoint::open(directory));
  ASSIGN_OR_RETURN(Weights weights, bind_weights(config, checkpoint));
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, build(std::move(config), std::move(weights), options,
                                                         /*mapped=*/true, tokenizer_bytes));
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
