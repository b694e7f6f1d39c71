// The engine without its thread: which requests run, in what passes, with which pages.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cache/prefix_index.h"
#include "engine/active_request.h"
#include "engine/model_runner.h"
#include "engine/scheduler.h"
#include "sample/sampler.h"

namespace indexshare {

/// Continuous batching: each step runs one forward pass over what all running requests need next, samples,
/// and lets those that wait begin as others end. Not thread-safe.
///
/// What the cache holds of a request that ends stays for those that begin alike, until its pages are needed.
/// When there is no page for a running request, the last one in order of precedence gives its pages back and
/// goes on later, with the same text.
class EngineLoop {
 public:
  explicit EngineLoop(ModelRunner& runner);

  void submit(std::unique_ptr<ActiveRequest> request);
  void cancel(RequestId id);
  void cancel_all();

  bool is_idle() const { return running_.empty() && waiting_.empty(); }
  void step();

  /// Those that have ended since the last call; what remains is to call their end().
  std::vector<std::unique_ptr<ActiveRequest>> take_ended() { return std::exchange(ended_, {}); }

  /// A cache of the longest beginning of `tokens` that was run before.
  SequenceCache attach(std::span<const int32_t> tokens) { return kept_.attach(tokens); }

  /// Keeps a cache that holds the first of `tokens`, for requests that begin with them: its full pages, and
  /// the last one where the sequence has `ended`. Nothing where prefixes are not reused.
  void keep(std::span<const int32_t> tokens, const SequenceCache& cache, bool ended);

  EngineStatistics statistics() const;

 private:
  using Requests = std::vector<std::unique_ptr<ActiveRequest>>;

  template <typename Which>
  void stop(FinishReason reason, Which which);
  void stop_late();
  void admit();
  bool should_wait(const ActiveRequest& request) const;
  void plan();
  void make_room();
  void preempt_last();
  void run();
  void take_results(Tensor logits, const Work& work);
  void finish(std::unique_ptr<ActiveRequest> request);

  ModelRunner& runner_;
  PrefixIndex kept_;
  Requests waiting_, running_;  // each in order of precedence
  Requests ended_;
  std::vector<Standing> standings_;
  std::vector<int64_t> shares_;  // tokens that each running request runs in this step
  SamplerWorkspace sampler_workspace_;
  EngineStatistics counts_;
};

}  // namespace indexshare
