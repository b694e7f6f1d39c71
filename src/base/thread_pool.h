// A fixed set of threads that share the items of one loop at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace indexshare {

/// Runs loops on `threads` threads, the caller's among them. One loop at a time, from one thread.
class ThreadPool {
 public:
  using Body = FunctionRef<void(int64_t item, int worker)>;

  /// `threads` >= 1 in all, the calling thread included. Where the machine has several memory `nodes`, the
  /// threads are shared out among them, and an item of one number out of as many tends to be run on the same
  /// node every time: what it reads then lies there, if that node was the first to touch it.
  explicit ThreadPool(int threads, int nodes = 1);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Calls body(item, worker) once for each item in [0, items), in any order and on any worker; worker is
  /// in [0, threads()). Returns when all calls have returned.
  void run(int64_t items, Body body);

 private:
  void work(int worker);
  bool run_one(int worker);
  int node_of(int worker) const { return worker * static_cast<int>(shares_.size()) / threads_; }

  // The items that the threads of one node claim first.
  struct alignas(64) Share {
    int64_t end = 0;
    std::atomic<int64_t> unclaimed{0};  // [end - unclaimed, end)
  };

  // The current loop. run() writes it while no item is unfinished; only who has claimed an item reads it.
  int threads_;
  const Body* body_ = nullptr;
  std::vector<Share> shares_;  // of the nodes
  std::atomic<int64_t> unfinished_{0};

  std::atomic<uint32_t> loops_{0};  // what idle workers wait on
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

/// The number of processors this process may run on.
int available_cpus();

}  // namespace indexshare
