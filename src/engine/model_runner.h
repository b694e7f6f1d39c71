// A loaded model with all that is needed to talk to it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/disk_cache.h"
#include "cache/page_pool.h"
#include "checkpoint/checkpoint.h"
#include "cpu/backend.h"
#include "engine/batch_builder.h"
#include "engine/engine_options.h"
#include "engine/memory_plan.h"
#include "indexshare/result.h"
#include "model/generation_config.h"
#include "model/model.h"
#include "sample/grammar.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace indexshare {

/// Ids that the tokenizer gives to GLM's markers, where it knows them.
struct MarkerTokens {
  std::optional<int32_t> think, end_think;
  std::vector<int32_t> roles;       // that begin messages
  std::vector<int32_t> tool_calls;  // that open and close tool calls and their arguments, ascending
};

/// Not thread-safe: one thread drives it and its sessions.
class ModelRunner {
 public:
  /// Loads a model directory. Everything that can be wrong with it or with the options is found here, and
  /// what cannot fit into memory is refused.
  static Result<std::unique_ptr<ModelRunner>> load(const std::filesystem::path& directory,
                                                   const EngineOptions& options);

  /// A runner of given weights without text: for benchmarks and tests. options.schedule is that of `config`.
  static Result<std::unique_ptr<ModelRunner>> create(Config config, Weights weights,
                                                     const EngineOptions& options);

  const Model& model() const { return *model_; }
  const Config& config() const { return model_->config(); }
  const GenerationConfig& generation_config() const { return generation_config_; }
  const EngineOptions& options() const { return options_; }       // with every default resolved
  const MemoryPlan& memory_plan() const { return memory_plan_; }  // of one sequence of options().context
  int64_t memory_bytes() const { return memory_bytes_; }  // to stay inside: memory_limit() at the start
  const cpu::CpuBackend& backend() const { return *backend_; }
  /// Tells apart models whose caches must not be mixed up.
  Result<std::string> fingerprint() const;

  const Checkpoint* checkpoint() const { return checkpoint_.get(); }
  PagePool& pool() { return *pool_; }
  const PagePool& pool() const { return *pool_; }

  /// Pages that memory has no room for; nullptr where none are kept. close_disk_cache() waits for its thread.
  DiskCache* disk_cache() { return disk_cache_.get(); }
  void close_disk_cache() { disk_cache_.reset(); }

  /// nullptr where the directory has none.
  const Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }
  const ChatTemplate* chat_template() const { return chat_template_ ? &*chat_template_ : nullptr; }

  /// The text of a prompt: `variables` as ChatTemplate::render takes them, and what the model's files add.
  /// "add_generation_prompt" is true unless given.
  Result<std::string> render_chat(Json variables) const;

  /// Ids that end a generation: those that the files list, and GLM's end-of-text, user and observation
  /// markers even where they do not.
  const std::vector<int32_t>& stop_ids() const { return stop_ids_; }
  const MarkerTokens& markers() const { return markers_; }

  /// What answers can be bound to. From any thread. It fails where there is no tokenizer.
  Result<std::shared_ptr<const Grammar>> compile(const Constraint& constraint) const;
  /// Whether compile() made it.
  bool made(const Grammar& grammar) const { return grammars_ && grammars_->made(grammar); }

  /// Runs one batch; logits [batch.logit_rows, vocab] are valid until the next run.
  Tensor forward(const Batch& batch, Probe* probe = nullptr);

  /// Tokens of one sequence whose logits are all wanted that may go into one pass: 64 MiB of logits, or one
  /// token.
  int64_t max_scored_tokens() const;

  /// Where batches are assembled, kept for reuse.
  BatchBuilder& builder() { return builder_; }

 private:
  ModelRunner() = default;
  static Result<std::unique_ptr<ModelRunner>> build(Config config, Weights weights,
                                                    const EngineOptions& options, bool mapped,
                                                    int64_t tokenizer_bytes);
  void collect_markers();
  GrammarVocabulary grammar_vocabulary() const;

  EngineOptions options_;
  MemoryPlan memory_plan_;
  int64_t memory_bytes_ = 0;
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::unique_ptr<cpu::CpuBackend> backend_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<PagePool> pool_;
  std::unique_ptr<DiskCache> disk_cache_;  // after the pool, into whose pages it reads
  GenerationConfig generation_config_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<ChatTemplate> chat_template_;
  SpecialTokens special_tokens_;
  std::vector<int32_t> stop_ids_;
  MarkerTokens markers_;
  std::unique_ptr<GrammarCompiler> grammars_;
  Workspace workspace_;
  BatchBuilder builder_;
  Buffer<float> logits_;
};

}  // namespace indexshare
