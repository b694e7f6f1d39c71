#include "engine/model_runner.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "checkpoint/bind_weights.h"
#include "checkpoint/fingerprint.h"

namespace indexshare {

Result<std::unique_ptr<ModelRunner>> ModelRunner::create(Config config, Weights weights,
                                                         const EngineOptions& options) {
  return build(std::move(config), std::move(weights), options, /*mapped=*/false, /*tokenizer_bytes=*/0);
}

Result<std::unique_ptr<ModelRunner>> ModelRunner::build(Config config, Weights weights,
                                                        const EngineOptions& options, bool mapped,
                                                        int64_t tokenizer_bytes) {
  ASSIGN_OR_RETURN(const cpu::Kernels* kernels, cpu::choose_kernels());
  ASSIGN_OR_RETURN(EngineOptions o, resolve_options(options, config, weights));
  const CacheLayout layout = cache_layout(config, dtype_of(*o.cache_dtype), o.index_keys);
  const auto plan = [&] {
    return plan_memory(config, weights, *kernels, o,
                       {.context = o.context, .batch = 1, .tokenizer_bytes = tokenizer_bytes});
  };
  const int64_t memory = memory_limit(o);
  RETURN_IF_ERROR(fit_memory(plan(), layout, memory, mapped, /*asked=*/options.context > 0, o));
  auto runner = std::unique_ptr<ModelRunner>(new ModelRunner());
  runner->options_ = o;
  runner->memory_plan_ = plan();
  runner->memory_bytes_ = memory;
  config.latent_norm_eps = o.latent_norm_eps;
  runner->generation_config_.eos_token_ids = config.eos_token_ids;
  runner->backend_ = std::make_unique<cpu::CpuBackend>(*kernels, o.threads, *o.compute, o.numa_nodes);
  runner->model_ = std::make_unique<Model>(std::move(config), std::move(weights), *runner->backend_);
  runner->pool_ = std::make_unique<PagePool>(layout, o.cache_bytes, /*spread=*/o.numa_nodes > 1);
  runner->collect_markers();
  return runner;
}

Result<std::unique_ptr<ModelRunner>> ModelRunner::load(const std::filesystem::path& directory,
                                                       const EngineOptions& options) {
  ASSIGN_OR_RETURN(Config config, load_config(directory));
  RETURN_IF_ERROR(apply_schedule(options, config));
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
  ASSIGN_OR_RETURN(SpecialTokens special_tokens, load_special_tokens(directory));
  ASSIGN_OR_RETURN(std::shared_ptr<const Checkpoint> checkpoint, Checkpoint::open(directory));
  ASSIGN_OR_RETURN(Weights weights, bind_weights(config, checkpoint));
  ASSIGN_OR_RETURN(std::unique_ptr<ModelRunner> runner, build(std::move(config), std::move(weights), options,
                                                              /*mapped=*/true, tokenizer_bytes));
  runner->generation_config_ = std::move(generation_config);
  runner->tokenizer_ = std::move(tokenizer);
  runner->chat_template_ = std::move(chat_template);
  runner->special_tokens_ = std::move(special_tokens);
  runner->checkpoint_ = std::move(checkpoint);
  runner->collect_markers();
  if (!options.disk_cache.empty()) {
    ASSIGN_OR_RETURN(std::string fingerprint, runner->fingerprint());
    ASSIGN_OR_RETURN(runner->disk_cache_, DiskCache::open({.directory = options.disk_cache,
                                                           .budget_bytes = options.disk_cache_bytes,
                                                           .fingerprint = std::move(fingerprint),
                                                           .warn = options.warn},
                                                          runner->pool_->layout()));
  }
  return runner;
}

Result<std::string> ModelRunner::fingerprint() const {
  if (checkpoint_ == nullptr) return make_error(ErrorCode::unsupported, "the model was made in memory");
  ASSIGN_OR_RETURN(const std::string print, indexshare::fingerprint(*checkpoint_));
  return fmt::format("{} schedule {} compute {} latent-norm-eps {}", print, options_.schedule,
                     float_type_name(*options_.compute), options_.latent_norm_eps);
}

void ModelRunner::collect_markers() {
  stop_ids_ = generation_config_.eos_token_ids;
  for (const int32_t id : config().eos_token_ids) stop_ids_.push_back(id);
  if (tokenizer_) {
    grammars_ = std::make_unique<GrammarCompiler>([this] { return grammar_vocabulary(); });
    for (const char* marker : {"<|endoftext|>", "<|user|>", "<|observation|>"}) {
      if (const auto id = tokenizer_->token_id(marker)) stop_ids_.push_back(*id);
    }
    markers_.think = tokenizer_->token_id("<think>");
    markers_.end_think = tokenizer_->token_id("</think>");
    for (const char* marker : {"<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"}) {
      if (const auto id = tokenizer_->token_id(marker)) markers_.roles.push_back(*id);
    }
    for (const char* marker :
         {"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"}) {
      if (const auto id = tokenizer_->token_id(marker)) markers_.tool_calls.push_back(*id);
    }
    std::sort(markers_.tool_calls.begin(), markers_.tool_calls.end());
  }
  std::sort(stop_ids_.begin(), stop_ids_.end());
  stop_ids_.erase(std::unique(stop_ids_.begin(), stop_ids_.end()), stop_ids_.end());
}

Result<std::shared_ptr<const Grammar>> ModelRunner::compile(const Constraint& constraint) const {
  if (!tokenizer_) {
    return make_error(ErrorCode::unsupported, "{} needs a tokenizer, and this model has none",
                      constraint_kind_name(constraint.kind));
  }
  return grammars_->compile(constraint);
}

// A text is made of tokens that are not special; of those that are, the ones that open and close tool calls.
GrammarVocabulary ModelRunner::grammar_vocabulary() const {
  GrammarVocabulary vocabulary;
  vocabulary.markers = markers_.tool_calls;
  vocabulary.tokens.resize(static_cast<size_t>(config().vocab_size));
  const auto is_marker = [this](int32_t id) {
    return std::binary_search(markers_.tool_calls.begin(), markers_.tool_calls.end(), id);
  };
  const auto is_text = [this](int32_t id) {
    return !tokenizer_->is_special(id) && id != markers_.think && id != markers_.end_think &&
           !std::binary_search(stop_ids_.begin(), stop_ids_.end(), id);
  };
  for (int32_t id = 0; id < static_cast<int32_t>(tokenizer_->vocab_size()); ++id) {
    if (is_text(id) || is_marker(id))
      vocabulary.tokens[static_cast<size_t>(id)] = tokenizer_->token_bytes(id);
  }
  return vocabulary;
}

Result<std::string> ModelRunner::render_chat(Json variables) const {
  if (!chat_template_) {
    return make_error(ErrorCode::unsupported,
                      "the model has no chat template, so it continues text rather than answers");
  }
  special_tokens_.add_to(variables);
  if (!variables.contains("add_generation_prompt")) variables["add_generation_prompt"] = true;
  return chat_template_->render(variables);
}

int64_t ModelRunner::max_scored_tokens() const {
  constexpr int64_t kBytes = int64_t{64} << 20;
  return std::max<int64_t>(1, kBytes / (config().vocab_size * static_cast<int64_t>(sizeof(float))));
}

Tensor ModelRunner::forward(const Batch& batch, Probe* probe) {
  const auto rows = static_cast<int64_t>(batch.logit_rows.size());
  logits_.resize(rows * config().vocab_size);
  const Tensor logits(logits_.data(), rows, config().vocab_size);
  model_->forward(batch, workspace_, logits, probe);
  return logits;
}

}  // namespace indexshare
