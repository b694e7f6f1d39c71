// The engine without its thread: which requests run, in what passes, with which pages.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cache/disk_cache.h"
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
/// Where there is a cache on the disk, pages that give way go there, and a request whose beginning is there
/// waits until it is back, while others run.
///
/// When there is no page for a running request, the last one in order of precedence gives its pages back and
/// goes on later, with the same text.
class EngineLoop {
 public:
  /// `wake`, from another thread, says that the loop is not idle any more; or empty.
  explicit EngineLoop(ModelRunner& runner, std::function<void()> wake = {});

  void submit(std::unique_ptr<ActiveRequest> request);
  void cancel(RequestId id);
  void cancel_all();

  /// Nothing to do for now: all that wait, if any, wait for pages from the disk.
  bool is_idle() const;
  void step();

  /// Those that have ended since the last call; what remains is to call their end().
  std::vector<std::unique_ptr<ActiveRequest>> take_ended() { return std::exchange(ended_, {}); }

  /// A cache of the longest beginning of `tokens` that was run before.
  SequenceCache attach(std::span<const int32_t> tokens) { return kept_.attach(tokens); }

  /// Keeps a cache that holds the first of `tokens`, for requests that begin with them: its full pages, and
  /// the last one where the sequence has `ended`. Nothing where prefixes are not reused.
  void keep(std::span<const int32_t> tokens, const SequenceCache& cache, bool ended);

  /// Hands what is kept to the disk's cache, if there is one.
  void store_kept();

  EngineStatistics statistics() const;

 private:
  using Requests = std::vector<std::unique_ptr<ActiveRequest>>;

  /// Pages on their way from the disk, for a request that waits for them.
  struct Fetch {
    RequestId id;
    std::vector<int32_t> tokens;  // of all pages up to the last of them
    SequenceCache cache;          // those that were kept, and behind them the ones to be filled
    int64_t kept_pages;
    std::shared_ptr<std::atomic<int64_t>> filled;  // pages; -1 until it is known
    bool is_done() const { return filled->load() >= 0; }
  };

  template <typename Which>
  void stop(FinishReason reason, Which which);
  void stop_late();
  void admit();
  bool should_wait(const ActiveRequest& request) const;
  bool fetch(const ActiveRequest& request);
  void take_fetched();
  void plan();
  void make_room();
  void preempt_last();
  void run();
  void take_results(Tensor logits, const Work& work);
  void finish(std::unique_ptr<ActiveRequest> request);

  ModelRunner& runner_;
  PrefixIndex kept_;
  DiskCache* disk_;  // may be null
  std::function<void()> wake_;
  std::vector<Fetch> fetches_;
  std::vector<RequestId> fetched_;  // that wait, but not for the disk any more
  bool looked_ = true;              // at those that wait, since there was a reason to
  Requests waiting_, running_;      // each in order of precedence
  Requests ended_;
  std::vector<Standing> standings_;
  std::vector<int64_t> shares_;  // tokens that each running request runs in this step
  SamplerWorkspace sampler_workspace_;
  EngineStatistics counts_;
};

}  // namespace indexshare
