// A loaded model with all that is needed to talk to it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/page_pool.h"
#include "checkpoint/checkpoint.h"
#include "cpu/backend.h"
#include "engine/batch_builder.h"
#include "indexshare/result.h"
#include "model/generation_config.h"
#include "model/model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace indexshare {

struct EngineOptions {
  int threads = 0;                     // 0: one per processor
  std::optional<ComputeType> compute;  // none: bf16 for bf16 and fp8 checkpoints, else f32
  std::optional<DType> cache_dtype;    // f32 or bf16; none: as compute
  float latent_norm_eps = 1e-6f;       // of q_a_layernorm and kv_a_layernorm
  int64_t context = 0;                 // tokens a sequence may have; 0: max_position_embeddings
  int64_t cache_bytes = 0;             // budget of all caches; 0: none
  int64_t chunk = 512;                 // prompt tokens in one forward pass
};

/// Ids that the tokenizer gives to GLM's markers, where it knows them.
struct MarkerTokens {
  std::optional<int32_t> think, end_think;
};

/// Not thread-safe: one thread drives the engine and its sessions.
class Engine {
 public:
  /// Loads a model directory. Everything that can be wrong with it or with the options is found here.
  static Result<std::unique_ptr<Engine>> load(const std::filesystem::path& directory,
                                              const EngineOptions& options);

  /// An engine of given weights without text: for benchmarks and tests.
  static Result<std::unique_ptr<Engine>> create(Config config, Weights weights, const EngineOptions& options);

  const Model& model() const { return *model_; }
  const Config& config() const { return model_->config(); }
  const GenerationConfig& generation_config() const { return generation_config_; }
  const EngineOptions& options() const { return options_; }  // with every default resolved
  const cpu::CpuBackend& backend() const { return *backend_; }
  const Checkpoint* checkpoint() const { return checkpoint_.get(); }
  PagePool& pool() { return *pool_; }

  /// nullptr where the directory has none.
  const Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }
  const ChatTemplate* chat_template() const { return chat_template_ ? &*chat_template_ : nullptr; }

  /// Ids that end a generation: those that the files list, and GLM's end-of-text, user and observation
  /// markers even where they do not.
  const std::vector<int32_t>& stop_ids() const { return stop_ids_; }
  const MarkerTokens& markers() const { return markers_; }

  /// Runs one batch; logits [batch.logit_rows, vocab] are valid until the next run.
  Tensor forward(const Batch& batch, Probe* probe = nullptr);

  /// Where batches are assembled, kept for reuse.
  BatchBuilder& builder() { return builder_; }

 private:
  Engine() = default;
  void collect_markers();

  EngineOptions options_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::unique_ptr<cpu::CpuBackend> backend_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<PagePool> pool_;
  GenerationConfig generation_config_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<ChatTemplate> chat_template_;
  std::vector<int32_t> stop_ids_;
  MarkerTokens markers_;
  Workspace workspace_;
  BatchBuilder builder_;
  Buffer<float> logits_;
};

}  // namespace indexshare
