#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace indexshare {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongIdle(30);  // far longer than workers look for work before they sleep

/// Runs one loop and checks that each item came once, on a worker that exists and does one thing at a time,
/// and that the caller sees what the items wrote.
void check_loop(ThreadPool& pool, int64_t items) {
  std::vector<int> calls(static_cast<size_t>(items));                   // plain: an item is one thread's
  std::vector<int64_t> by_worker(static_cast<size_t>(pool.threads()));  // plain: a worker is one thread
  std::atomic<bool> in_range = true;
  pool.run(items, [&](int64_t item, int worker) {
    if (item < 0 || item >= items || worker < 0 || worker >= pool.threads()) {
      in_range = false;
      return;
    }
    ++calls[static_cast<size_t>(item)];
    ++by_worker[static_cast<size_t>(worker)];
  });
  ASSERT_TRUE(in_range);
  for (const int count : calls) ASSERT_EQ(count, 1);
  int64_t total = 0;
  for (const int64_t count : by_worker) total += count;
  ASSERT_EQ(total, items);
}

TEST(ThreadPool, RunsEachItemOnce) {
  for (const int threads : {1, 2, 3, 5, 8}) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.threads(), threads);
    for (int round = 0; round < 100; ++round) {
      for (const int64_t items : {0, 1, 2, 3, 7, 64, 300}) ASSERT_NO_FATAL_FAILURE(check_loop(pool, items));
    }
  }
}

// Nodes that the machine need not have: the items of each are claimed by its own threads first, and by all.
TEST(ThreadPool, ThreadsOfSeveralNodesShareTheItems) {
  for (const int nodes : {2, 3, 8}) {
    ThreadPool pool(4, nodes);
    for (int round = 0; round < 100; ++round) {
      for (const int64_t items : {0, 1, 2, 3, 7, 64, 300}) ASSERT_NO_FATAL_FAILURE(check_loop(pool, items));
    }
  }
  ThreadPool pool(2, 2);
  std::vector<int> worker_of(2, -1);
  std::atomic<int> arrived{0};
  pool.run(2, [&](int64_t item, int worker) {  // both wait: neither can take the other's item
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
    worker_of[static_cast<size_t>(item)] = worker;
  });
  EXPECT_EQ(worker_of, (std::vector<int>{0, 1})) << "each its own node's";
}

// Loops that follow one another at once meet workers that wake up late or still look for an item of the one
// before. The number of items changes, so that an item past the end of one loop is one of the next.
TEST(ThreadPool, ManyShortLoopsDoNotMix) {
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads, threads / 2);
    std::vector<int64_t> slots(8, -1);
    for (int64_t loop = 0; loop < 200'000; ++loop) {
      const int64_t items = 2 + loop % 7;
      pool.run(items, [&slots, loop](int64_t item, int) { slots[static_cast<size_t>(item)] = loop; });
      for (int64_t item = 0; item < items; ++item) ASSERT_EQ(slots[static_cast<size_t>(item)], loop);
    }
  }
}

TEST(ThreadPool, AllThreadsWorkAtTheSameTime) {
  for (const int threads : {2, 3, 5}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 3; ++round) {
      std::atomic<int> arrived = 0;
      std::vector<std::atomic<int>> seen(static_cast<size_t>(threads));
      pool.run(threads, [&](int64_t, int worker) {  // ends only if every item has a thread of its own
        ++seen[static_cast<size_t>(worker)];
        ++arrived;
        while (arrived < threads) std::this_thread::yield();
      });
      for (const std::atomic<int>& count : seen) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, ASlowItemHoldsUpNoOther) {
  ThreadPool pool(2);
  std::atomic<int> done = 0;
  pool.run(50, [&](int64_t item, int) {
    if (item == 0) {  // waits until the other thread has done all the rest
      while (done < 49) std::this_thread::yield();
    }
    ++done;
  });
  EXPECT_EQ(done, 50);
}

TEST(ThreadPool, WakesUpAfterALongIdle) {
  ThreadPool pool(4);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(kLongIdle);
    std::atomic<int> arrived = 0;
    pool.run(4, [&](int64_t, int) {  // all four must have woken up
      ++arrived;
      while (arrived < 4) std::this_thread::yield();
    });
    ASSERT_NO_FATAL_FAILURE(check_loop(pool, 100));
  }
}

TEST(ThreadPool, EndsWhileIdle) {
  for (int i = 0; i < 50; ++i) ThreadPool never_used(3);
  for (int i = 0; i < 50; ++i) {
    ThreadPool just_used(3);
    ASSERT_NO_FATAL_FAILURE(check_loop(just_used, 10));
  }
  ThreadPool asleep(3);
  std::this_thread::sleep_for(kLongIdle);
}

TEST(ThreadPool, OneThreadRunsItemsInOrderOnTheCaller) {
  ThreadPool pool(1);
  std::vector<int64_t> order;
  pool.run(5, [&](int64_t item, int worker) {
    EXPECT_EQ(worker, 0);
    order.push_back(item);
  });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST(ThreadPool, TwoPoolsDoNotDisturbEachOther) {
  std::vector<std::thread> owners;
  std::atomic<int64_t> sum = 0;
  for (int owner = 0; owner < 2; ++owner) {
    owners.emplace_back([&sum] {
      ThreadPool pool(2);
      for (int loop = 0; loop < 200; ++loop) pool.run(10, [&](int64_t item, int) { sum += item; });
    });
  }
  for (std::thread& owner : owners) owner.join();
  EXPECT_EQ(sum, 2 * 200 * 45);
}

TEST(AvailableCpus, AreOneAtLeast) {
  EXPECT_GE(available_cpus(), 1);
}

}  // namespace
}  // namespace indexshare
