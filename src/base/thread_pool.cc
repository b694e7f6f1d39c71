#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>

#include "base/numa.h"

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

}  // namespace

ThreadPool::ThreadPool(int threads, int nodes)
    : threads_(threads), shares_(static_cast<size_t>(std::clamp(nodes, 1, threads))) {
  for (int worker = 1; worker < threads; ++worker) {
    workers_.emplace_back([this, worker] {
      if (shares_.size() > 1) bind_thread_to_node(node_of(worker) % numa_nodes());
      work(worker);
    });
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
  body_ = &body;
  unfinished_.store(items, std::memory_order_relaxed);
  const auto nodes = std::ssize(shares_);
  for (int64_t node = 0; node < nodes; ++node) {
    Share& share = shares_[static_cast<size_t>(node)];
    const int64_t begin = items * node / nodes;
    share.end = items * (node + 1) / nodes;
    share.unclaimed.store(share.end - begin, std::memory_order_release);
  }
  ++loops_;
  if (sleepers_.load() > 0) loops_.notify_all();

  while (run_one(0)) {
  }
  while (unfinished_.load(std::memory_order_acquire) > 0) pause();
}

// Claims and runs one item, of the worker's own node if it can; false when none is left to claim. A worker
// that comes late may claim an item of another loop than the one that woke it: the loop is read only once an
// item of it is claimed, and from then until that item is finished run() cannot return.
bool ThreadPool::run_one(int worker) {
  const auto nodes = static_cast<int>(shares_.size());
  for (int i = 0; i < nodes; ++i) {
    Share& share = shares_[static_cast<size_t>((node_of(worker) + i) % nodes)];
    int64_t left = share.unclaimed.load(std::memory_order_relaxed);
    while (left > 0 && !share.unclaimed.compare_exchange_weak(left, left - 1, std::memory_order_acquire,
                                                              std::memory_order_relaxed)) {
    }
    if (left == 0) continue;
    (*body_)(share.end - left, worker);
    unfinished_.fetch_sub(1, std::memory_order_release);
    return true;
  }
  return false;
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
    while (run_one(worker)) {
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
