#include "base/thread_pool.h"

#include <sched.h>

namespace indexshare {
namespace {

// How often an idle worker looks for the next loop before it sleeps: decoding starts a loop every few
// microseconds, and waking a sleeping thread costs tens of them.
constexpr int kSpins = 20000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

constexpr int kLoopShift = 32;

uint32_t loop_of(uint64_t ticket) {
  return static_cast<uint32_t>(ticket >> kLoopShift);
}
int64_t item_of(uint64_t ticket) {
  return static_cast<int64_t>(ticket & 0xffffffffu);
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int worker = 1; worker < threads; ++worker) {
    workers_.emplace_back([this, worker] { work(worker); });
  }
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  ++loops_;
  loops_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(int64_t items, Body body) {
  if (items <= 0) return;
  if (workers_.empty() || items == 1) {
    for (int64_t item = 0; item < items; ++item) body(item, 0);
    return;
  }
  const uint32_t loop = loops_.load(std::memory_order_relaxed) + 1;
  body_.store(&body, std::memory_order_relaxed);
  items_.store(items, std::memory_order_relaxed);
  unfinished_.store(items, std::memory_order_relaxed);
  ticket_.store(static_cast<uint64_t>(loop) << kLoopShift, std::memory_order_release);
  loops_.store(loop);
  if (sleepers_.load() > 0) loops_.notify_all();

  while (run_one(loop, 0)) {
  }
  while (unfinished_.load(std::memory_order_acquire) > 0) pause();
}

// Claims and runs one item of the given loop; false when none is left to claim.
bool ThreadPool::run_one(uint32_t loop, int worker) {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (true) {
    // These belong to the ticket's loop if the exchange below succeeds: while an item of a loop is
    // unclaimed, run() has not returned and cannot have stored the next loop's.
    const Body* body = body_.load(std::memory_order_relaxed);
    const int64_t items = items_.load(std::memory_order_relaxed);
    if (loop_of(ticket) != loop || item_of(ticket) >= items) return false;
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      continue;
    }
    (*body)(item_of(ticket), worker);
    unfinished_.fetch_sub(1, std::memory_order_acq_rel);
    return true;
  }
}

void ThreadPool::work(int worker) {
  uint32_t seen = 0;
  while (true) {
    for (int spin = 0; spin < kSpins && loops_.load(std::memory_order_relaxed) == seen; ++spin) pause();
    if (loops_.load() == seen) {
      ++sleepers_;
      loops_.wait(seen);
      --sleepers_;
    }
    if (stop_) return;
    seen = loops_.load();
    while (run_one(seen, worker)) {
    }
  }
}

int available_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  const unsigned count = std::thread::hardware_concurrency();
  return count > 0 ? static_cast<int>(count) : 1;
}

}  // namespace indexshare
