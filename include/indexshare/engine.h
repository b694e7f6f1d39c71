// The engine: a loaded model that answers any number of requests at once.
//
//   Result<Engine> engine = Engine::load("models/pocket");
//   if (!engine.ok()) return fail(engine.error().message);
//   GenerationRequest request = engine->default_request();
//   request.prompt = *engine->encode("Once upon a time");
//   Result<GenerationResult> answer = engine->generate(request);
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "indexshare/export.h"
#include "indexshare/generation.h"
#include "indexshare/options.h"
#include "indexshare/result.h"

namespace indexshare {

class ModelRunner;  // the inside: these two are no part of the public interface
class Probe;

/// What was loaded, and how.
struct ModelInfo {
  std::string path;
  std::string schedule;  // per layer F, builds an index, or S, shares the last one
  int64_t layers = 0;
  int64_t vocab_size = 0;
  int64_t index_topk = 0;
  int64_t context = 0;            // tokens that prompt and answer may have together
  std::vector<int32_t> stop_ids;  // that end an answer
  std::optional<int32_t> bos_id, pad_id;
  bool has_tokenizer = false;
  bool has_chat_template = false;
  std::string isa;           // the kernels' instruction set, on which the last bits of results depend
  EngineOptions options;     // with every default resolved
  int64_t memory_bytes = 0;  // planned for one sequence of `context` tokens
  int64_t cache_bytes_per_token = 0;
};

/// Counts since the engine was loaded, and what it is doing now.
struct EngineStatistics {
  int64_t running = 0, waiting = 0;  // requests
  int64_t submitted = 0, finished = 0, failed = 0, cancelled = 0, preempted = 0;
  int64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  int64_t steps = 0;        // forward passes
  int64_t step_tokens = 0;  // of all passes
  /// Passes by their tokens: [0] over one, [i] over more than 2^(i-1) and at most 2^i, the last one any more.
  std::array<int64_t, 17> steps_by_tokens{};
  int64_t pages_in_use = 0;  // held by running requests or kept for reuse
  int64_t pages_kept = 0;    // of these, for reuse alone or as well
  int64_t page_bytes = 0, page_tokens = 0;
  int64_t cache_bytes = 0, cache_budget_bytes = 0;
  int64_t disk_pages = 0, disk_bytes = 0;                   // in EngineOptions::disk_cache
  int64_t disk_pages_read = 0, disk_pages_written = 0;      // from it and to it
  int64_t disk_pages_refused = 0, disk_pages_not_kept = 0;  // damaged; and those that it was too slow for
  Work work;
};

using RequestId = uint64_t;

/// One answer as it comes. Leaving it cancels the request.
class INDEXSHARE_API Stream {
 public:
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  /// Waits for the next piece; nothing once the answer has ended.
  std::optional<GeneratedPiece> next();

  /// Waits until next() would not: true; or for `timeout`: false.
  bool wait_for(std::chrono::nanoseconds timeout);

  /// Prompt tokens read so far, 0 while the request waits.
  int64_t prompt_tokens_done() const;

  void cancel();

  /// Waits for the end; pieces not taken are dropped. Valid once.
  Result<GenerationResult> result();

 private:
  friend class Engine;
  struct INDEXSHARE_INTERNAL State;
  INDEXSHARE_INTERNAL explicit Stream(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// All members may be called from any thread. An answer depends on its request alone, to the last bit: not on
/// what else is running, nor on how much of its prompt was kept from before.
class INDEXSHARE_API Engine {
 public:
  /// Loads a model directory as published (config.json, safetensors, tokenizer.json, chat template). What is
  /// wrong with it or with the options is found here, and what cannot fit into memory is refused.
  static Result<Engine> load(const std::filesystem::path& directory, const EngineOptions& options = {});

  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  /// Cancels what is running; every on_end has been called when it returns.
  ~Engine();

  const ModelInfo& info() const;

  /// A request without a prompt, with the sampling that the model's generation_config.json asks for.
  GenerationRequest default_request() const;

  /// Text to ids and back. They fail where the model has no tokenizer. `plain`: the text of a special token
  /// is text like any other.
  Result<std::vector<int32_t>> encode(std::string_view text, bool plain = false) const;
  Result<std::string> decode(std::span<const int32_t> ids, bool skip_special = true) const;
  /// The bytes that a token stands for, perhaps part of a character.
  Result<std::string> token_bytes(int32_t id) const;

  /// The text of a prompt by the model's chat template. `variables` is a JSON object: "messages", and what
  /// else the template reads: "tools", "enable_thinking", "reasoning_effort"... "add_generation_prompt" is
  /// true unless given.
  Result<std::string> render_chat(std::string_view variables) const;

  /// What GenerationRequest::grammar binds an answer to. Takes milliseconds for most constraints, up to
  /// seconds for large ones. Fails where one is not understood or too large.
  Result<std::shared_ptr<const Grammar>> compile(const Constraint& constraint) const;

  /// Takes a request. What is wrong with it is found here: then no callback is ever called.
  Result<RequestId> submit(GenerationRequest request, GenerationCallbacks callbacks);

  /// Ends a request within a step, as cancelled; nothing where it has ended already.
  void cancel(RequestId id);

  /// submit(), as a stream of pieces, or waiting for the end.
  Result<Stream> stream(GenerationRequest request);
  Result<GenerationResult> generate(GenerationRequest request, GenerationCallbacks callbacks = {});

  /// Writes a sequence to a file: its tokens and all that the cache holds of them, read first where it holds
  /// less. The file is written whole or not at all.
  Result<void> save_session(const std::filesystem::path& file, std::span<const int32_t> tokens);

  /// Brings such a file back and returns its tokens: a request that begins with them goes on from there, bit
  /// for bit. A file that is damaged, of another model or of another version is refused.
  Result<std::vector<int32_t>> restore_session(const std::filesystem::path& file);

  EngineStatistics statistics() const;

  /// For the project's own programs alone: the installed library does not have what follows.
  INDEXSHARE_INTERNAL const ModelRunner& runner() const;
  /// Runs `task` on the engine's thread, between two steps, and waits for it. Not from a callback.
  INDEXSHARE_INTERNAL void run_exclusive(const std::function<void(ModelRunner&)>& task);
  /// Shows `probe` the forward pass of the tokens from number `first` on, at least 1; returns what it took.
  /// It runs between two steps, so these should be few. The tokens before them are read first, as any
  /// request's, where the cache does not hold them, for as long as `wanted`, called on the engine's thread,
  /// says so. Not from a callback.
  INDEXSHARE_INTERNAL Result<Work> observe(std::span<const int32_t> tokens, int64_t first, Probe& probe,
                                           const std::function<bool()>& wanted);
  INDEXSHARE_INTERNAL explicit Engine(std::unique_ptr<ModelRunner> runner);

 private:
  class INDEXSHARE_INTERNAL Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace indexshare
