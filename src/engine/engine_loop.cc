#include "engine/engine_loop.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"

namespace indexshare {
namespace {

void insert_in_order(std::vector<std::unique_ptr<ActiveRequest>>& requests,
                     std::unique_ptr<ActiveRequest> request) {
  const auto place = std::find_if(requests.begin(), requests.end(),
                                  [&](const auto& other) { return request->goes_before(*other); });
  requests.insert(place, std::move(request));
}

// Takes out those for which `wanted` is true.
template <typename Wanted>
std::vector<std::unique_ptr<ActiveRequest>> take_out(std::vector<std::unique_ptr<ActiveRequest>>& requests,
                                                     Wanted wanted) {
  std::vector<std::unique_ptr<ActiveRequest>> taken;
  for (auto& request : requests) {
    if (wanted(*request)) taken.push_back(std::move(request));
  }
  std::erase(requests, nullptr);
  return taken;
}

}  // namespace

EngineLoop::EngineLoop(ModelRunner& runner, std::function<void()> wake)
    : runner_(runner), kept_(runner.pool()), disk_(runner.disk_cache()), wake_(std::move(wake)) {
  if (disk_ == nullptr) return;
  kept_.set_evicted([this](std::span<const int32_t> tokens, std::span<const std::byte> page) {
    disk_->write(tokens, page);
  });
}

bool EngineLoop::is_idle() const {
  if (!running_.empty()) return false;
  if (waiting_.empty()) return true;
  return looked_ && !fetches_.empty() && std::ranges::none_of(fetches_, &Fetch::is_done);
}

void EngineLoop::submit(std::unique_ptr<ActiveRequest> request) {
  ++counts_.submitted;
  looked_ = false;
  insert_in_order(waiting_, std::move(request));
}

template <typename Which>
void EngineLoop::stop(FinishReason reason, Which which) {
  for (Requests* requests : {&waiting_, &running_}) {
    for (auto& request : take_out(*requests, which)) {
      request->stop(reason);
      finish(std::move(request));
    }
  }
}

void EngineLoop::keep(std::span<const int32_t> tokens, const SequenceCache& cache, bool ended) {
  if (runner_.options().reuse_prefixes && cache.length() > 0) kept_.insert(tokens, cache, ended);
}

void EngineLoop::cancel(RequestId id) {
  stop(FinishReason::cancelled, [id](const ActiveRequest& request) { return request.id() == id; });
}

void EngineLoop::cancel_all() {
  stop(FinishReason::cancelled, [](const ActiveRequest&) { return true; });
}

void EngineLoop::stop_late() {
  const auto now = ActiveRequest::Clock::now();
  stop(FinishReason::timeout, [now](const ActiveRequest& request) { return request.is_late(now); });
}

// Whether a prompt that is being read, or comes from the disk, will soon have brought more of this one's
// beginning than is kept now.
bool EngineLoop::should_wait(const ActiveRequest& request) const {
  if (!runner_.options().reuse_prefixes || request.scores_prompt()) return false;
  int64_t soon = 0;
  const auto shares = [&](std::span<const int32_t> a) {
    const auto b = request.tokens();
    const int64_t common = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
    soon = std::max(soon, common / kPageTokens * kPageTokens);
  };
  for (const auto& other : running_) {
    if (other->reads_prompt() && other->priority() >= request.priority()) shares(other->prompt());
  }
  for (const Fetch& fetch : fetches_) shares(fetch.tokens);
  return soon > 0 && soon > kept_.match(request.tokens());
}

void EngineLoop::admit() {
  for (size_t i = 0; i < waiting_.size() && std::ssize(running_) < runner_.options().max_running;) {
    const ActiveRequest& next = *waiting_[i];
    const bool fetching = std::ranges::any_of(fetches_, [&](const Fetch& f) { return f.id == next.id(); });
    if (fetching || should_wait(next)) {
      ++i;
      continue;
    }
    // The pages of its own beginning, if they are kept, count on both sides.
    const int64_t wanted = pages_for(std::ssize(next.tokens()) + 1);
    int64_t room = runner_.pool().pages_left();
    if (room < wanted) room += kept_.unused_pages();
    const bool others_hold_pages = !running_.empty() || !fetches_.empty();
    if (room < wanted && others_hold_pages) return;
    if (fetch(next)) {
      ++i;
      continue;
    }
    std::unique_ptr<ActiveRequest> request = std::move(waiting_[i]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    std::erase(fetched_, request->id());
    const bool reuse = runner_.options().reuse_prefixes && !request->scores_prompt();
    const PrefixEnd end = reuse ? kept_.match_end(request->tokens()) : PrefixEnd::unused;
    request->start(reuse ? kept_.attach(request->tokens()) : SequenceCache(runner_.pool()), end);
    insert_in_order(running_, std::move(request));
  }
}

// Whether pages of its beginning that memory does not hold are on their way from the disk: then it has to
// wait.
bool EngineLoop::fetch(const ActiveRequest& request) {
  if (disk_ == nullptr || request.scores_prompt() || std::ranges::count(fetched_, request.id()) > 0) {
    return false;
  }
  const std::span<const int32_t> tokens = request.tokens();
  const int64_t kept = kept_.match(tokens) / kPageTokens;
  int64_t count = disk_->find(tokens, kept);
  if (count == 0) return false;
  SequenceCache cache = kept_.attach(tokens.first(static_cast<size_t>(kept * kPageTokens)));
  while (count > 0 && !cache.extend(count * kPageTokens).ok()) count /= 2;
  if (count == 0) return false;
  const auto all = tokens.first(static_cast<size_t>(cache.length()));
  std::vector<std::span<std::byte>> pages;
  for (int64_t page = kept; page < kept + count; ++page) pages.push_back(cache.page_bytes(page));
  const auto filled = std::make_shared<std::atomic<int64_t>>(-1);
  disk_->read({all.begin(), all.end()}, std::move(pages), [filled, wake = wake_](int64_t read) {
    filled->store(read);
    if (wake) wake();
  });
  fetches_.push_back({request.id(), {all.begin(), all.end()}, std::move(cache), kept, filled});
  return true;
}

void EngineLoop::take_fetched() {
  for (Fetch& fetch : fetches_) {
    if (!fetch.is_done()) continue;
    fetch.cache.truncate((fetch.kept_pages + fetch.filled->load()) * kPageTokens);
    keep(fetch.tokens, fetch.cache, /*ended=*/false);
    fetch.cache.truncate(0);
    if (std::ranges::any_of(waiting_, [&](const auto& request) { return request->id() == fetch.id; })) {
      fetched_.push_back(fetch.id);
    }
  }
  std::erase_if(fetches_, [](const Fetch& fetch) { return fetch.cache.length() == 0; });
}

void EngineLoop::store_kept() {
  if (disk_ == nullptr) return;
  kept_.for_each_kept(disk_->max_pages(),
                      [this](std::span<const int32_t> tokens, std::span<const std::byte> page) {
                        disk_->write(tokens, page, /*wait=*/true);
                      });
}

void EngineLoop::plan() {
  const int64_t chunk = runner_.options().chunk;
  standings_.clear();
  for (const auto& request : running_) {
    standings_.push_back({.pending = request->pending(),
                          .limit = request->scores_prompt() ? runner_.max_scored_tokens() : chunk,
                          .priority = request->priority()});
  }
  schedule(standings_, chunk, shares_);
}

void EngineLoop::preempt_last() {
  std::unique_ptr<ActiveRequest> request = std::move(running_.back());
  running_.pop_back();
  shares_.pop_back();
  ++counts_.preempted;
  keep(request->tokens(), request->cache(), /*ended=*/true);
  request->give_cache_back();
  insert_in_order(waiting_, std::move(request));
}

// Extends the cache of each request by what it runs in this step.
void EngineLoop::make_room() {
  for (size_t i = 0; i < running_.size(); ++i) {
    if (shares_[i] == 0) continue;
    while (i < running_.size()) {
      const Result<void> extended = running_[i]->cache().extend(shares_[i]);
      if (extended.ok()) break;
      if (running_.size() > 1 || !fetches_.empty()) {
        preempt_last();  // perhaps itself
        continue;
      }
      if (kept_.pages() > 0) {  // what is kept of its own beginning would have to be copied to go on
        kept_.clear();
        continue;
      }
      running_[i]->fail(extended.error());
      shares_.clear();
      std::unique_ptr<ActiveRequest> request = std::move(running_[i]);
      running_.clear();
      finish(std::move(request));
    }
  }
}

void EngineLoop::run() {
  BatchBuilder& builder = runner_.builder();
  builder.clear();
  for (size_t i = 0; i < running_.size(); ++i) {
    if (shares_[i] == 0) continue;
    ActiveRequest& request = *running_[i];
    const int64_t first = request.cache().length() - shares_[i];
    const auto tokens = request.tokens().subspan(static_cast<size_t>(first), static_cast<size_t>(shares_[i]));
    builder.add(request.cache(), tokens,
                request.scores_prompt()  ? LogitsFor::all
                : request.pending() == 0 ? LogitsFor::last
                                         : LogitsFor::none);
  }
  const Profile& profile = runner_.model().backend().profile();
  const Work before = profile.work();
  const Batch batch = builder.batch();
  ++counts_.steps;
  counts_.step_tokens += batch.rows();
  const auto size = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(batch.rows() - 1)));
  ++counts_.steps_by_tokens[std::min(size, counts_.steps_by_tokens.size() - 1)];
  const Tensor logits = runner_.forward(batch);
  take_results(logits, profile.work() - before);
}

void EngineLoop::take_results(Tensor logits, const Work& work) {
  counts_.work += work;
  std::vector<RequestId> ended;
  int64_t row = 0;
  for (size_t i = 0; i < running_.size(); ++i) {
    if (shares_[i] == 0) continue;
    ActiveRequest& request = *running_[i];
    request.add_work(work);
    const bool complete = request.pending() == 0;
    if (request.reads_prompt()) counts_.prompt_tokens += shares_[i];
    const int64_t rows = request.scores_prompt() ? shares_[i] : complete ? 1 : 0;
    const Tensor own(logits.row(row), rows, logits.cols);
    row += rows;
    if (request.scores_prompt()) {
      request.score_prompt(request.cache().length() - rows, own, sampler_workspace_);
    }
    // Pages that are full now can serve others at once.
    if (request.cache().length() / kPageTokens != (request.cache().length() - shares_[i]) / kPageTokens) {
      keep(request.tokens(), request.cache(), /*ended=*/false);
    }
    if (!complete) continue;
    const std::span<float> last(own.row(rows - 1), static_cast<size_t>(own.cols));
    const int64_t generated = std::ssize(request.result().ids);
    if (request.take_logits(last, sampler_workspace_)) ended.push_back(request.id());
    counts_.generated_tokens += std::ssize(request.result().ids) - generated;
  }
  for (auto& request : take_out(running_, [&](const ActiveRequest& r) {
         return std::find(ended.begin(), ended.end(), r.id()) != ended.end();
       })) {
    finish(std::move(request));
  }
}

void EngineLoop::finish(std::unique_ptr<ActiveRequest> request) {
  const GenerationResult& result = request->result();
  counts_.cached_tokens += result.cached_tokens;
  ++(request->failed()                                 ? counts_.failed
     : result.finish_reason == FinishReason::cancelled ? counts_.cancelled
                                                       : counts_.finished);
  std::erase(fetched_, request->id());
  looked_ = false;
  if (!request->failed()) keep(request->tokens(), request->cache(), /*ended=*/true);
  request->give_cache_back();
  ended_.push_back(std::move(request));
}

void EngineLoop::step() {
  stop_late();
  take_fetched();
  looked_ = true;
  admit();
  for (auto& request : take_out(running_, [](ActiveRequest& r) { return !r.report_progress(); })) {
    request->stop(FinishReason::cancelled);
    finish(std::move(request));
  }
  plan();
  make_room();
  if (!running_.empty()) run();
}

EngineStatistics EngineLoop::statistics() const {
  EngineStatistics now = counts_;
  const PagePool& pool = std::as_const(runner_).pool();
  now.running = std::ssize(running_);
  now.waiting = std::ssize(waiting_);
  now.pages_in_use = pool.pages_in_use();
  now.pages_kept = kept_.pages();
  now.page_bytes = pool.layout().page_bytes;
  now.page_tokens = kPageTokens;
  now.cache_bytes = pool.allocated_bytes();
  now.cache_budget_bytes = pool.budget_bytes();
  if (disk_ != nullptr) {
    const DiskCacheStatistics disk = disk_->statistics();
    now.disk_pages = disk.pages;
    now.disk_bytes = disk.bytes;
    now.disk_pages_read = disk.read;
    now.disk_pages_written = disk.written;
    now.disk_pages_refused = disk.refused;
    now.disk_pages_not_kept = disk.not_kept;
  }
  return now;
}

}  // namespace indexshare
