#include "cpu/machine_limits.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <limits>
#include <thread>

#include "base/error.h"
#include "cpu/kernels.h"
#include "cpu/peak_loops.h"

namespace indexshare::cpu {
namespace {

constexpr int kRuns = 5;                             // of which the best counts
constexpr double kRunSeconds = 0.03;                 // of one thread in one run
constexpr int64_t kMinReadBytes = int64_t{1} << 30;  // larger than caches that do not tell their size
constexpr int64_t kReadStep = 4096;                  // a thread's share is a multiple of it
constexpr int64_t kBarriers = 5000;
constexpr double kBarrierSeconds = 0.5;  // for all of them

double wall_seconds(FunctionRef<void()> work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double thread_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Where the threads of a loop wait until all of them have come.
class Meeting {
 public:
  explicit Meeting(int64_t threads) : missing_(threads) {}

  void wait() {
    missing_.fetch_sub(1);
    for (int spin = 0; missing_.load() > 0; ++spin) {
      if (spin > kSpins) std::this_thread::yield();  // there may be fewer processors than threads
    }
  }

 private:
  static constexpr int kSpins = 1000;
  std::atomic<int64_t> missing_;
};

// work(thread) on every thread of the pool at once; the best of a few runs, where all together do `amount`.
Speed measure(ThreadPool& pool, double amount, FunctionRef<void(int64_t thread)> work) {
  const int64_t threads = pool.threads();
  std::vector<double> cpu(static_cast<size_t>(threads));
  Speed best;
  for (int run = 0; run < kRuns; ++run) {
    Meeting meeting(threads);
    const double wall = wall_seconds([&] {
      pool.run(threads, [&](int64_t item, int) {
        meeting.wait();  // so that each thread takes one item, and all begin together
        const double start = thread_cpu_seconds();
        work(item);
        cpu[static_cast<size_t>(item)] = thread_cpu_seconds() - start;
      });
    });
    best.wall = std::max(best.wall, amount / wall);
    best.cpu = std::max(best.cpu, amount / *std::max_element(cpu.begin(), cpu.end()));
  }
  return best;
}

std::span<const PeakLoop> loops_of(std::string_view table) {
#if defined(__x86_64__)
  if (table == "avx2") return avx2_peak_loops();
  if (table == "avx512") return avx512_peak_loops();
  if (table == "avx512_vnni") return avx512_vnni_peak_loops();
  if (table == "avx512_bf16") return avx512_bf16_peak_loops();
  if (table == "amx") return amx_peak_loops();
#elif defined(__aarch64__)
  if (table == "neon") return neon_peak_loops();
#endif
  return scalar_peak_loops();
}

int64_t largest_cache_bytes() {
  int64_t largest = 0;
  for (const int level : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE}) {
    largest = std::max<int64_t>(largest, ::sysconf(level));
  }
  return largest;
}

int64_t free_memory_bytes() {
  return int64_t{::sysconf(_SC_AVPHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

// Reads a multiple of kReadStep bytes. Asking ahead of the hardware's own prefetcher gains a few percent.
uint64_t read_once(const std::byte* data, int64_t bytes) {
  constexpr int64_t kAhead = 4096;
  constexpr int64_t kWords = 8;  // of a cache line
  uint64_t sums[kWords] = {};
  const auto* words = reinterpret_cast<const uint64_t*>(data);
  for (int64_t i = 0; i < bytes / static_cast<int64_t>(sizeof(uint64_t)); i += kWords) {
    __builtin_prefetch(reinterpret_cast<const char*>(words + i) + kAhead);
    for (int64_t w = 0; w < kWords; ++w) sums[w] += words[i + w];
  }
  uint64_t sum = 0;
  for (const uint64_t part : sums) sum += part;
  return sum;
}

}  // namespace

std::vector<PeakLoop> available_peak_loops() {
  std::vector<PeakLoop> loops;
  for (const Kernels* table : available_kernels()) {
    for (const PeakLoop& loop : loops_of(table->name)) loops.push_back(loop);
  }
  return loops;
}

Speed measure_peak(const PeakLoop& loop, ThreadPool& pool) {
  int64_t rounds = 1;
  while (wall_seconds([&] { loop.run(rounds); }) < kRunSeconds) rounds *= 2;
  const int64_t operations = pool.threads() * rounds * loop.operations;
  return measure(pool, static_cast<double>(operations), [&](int64_t) { loop.run(rounds); });
}

int64_t read_area_bytes() {
  const int64_t wanted = std::max(kMinReadBytes, 4 * largest_cache_bytes());
  return std::max(std::min(wanted, free_memory_bytes() / 4), kHugePage);
}

Result<Memory> make_read_area(int64_t bytes, ThreadPool& pool) {
  Memory area = Memory::allocate(bytes);
  if (area.data() == nullptr) return make_error("no {} bytes to measure how fast memory is read", bytes);
  pool.run((bytes + kHugePage - 1) / kHugePage, [&](int64_t page, int) {
    const int64_t at = page * kHugePage;
    std::memset(area.data() + at, 1, static_cast<size_t>(std::min(kHugePage, bytes - at)));
  });
  return area;
}

Speed measure_read(const Memory& area, ThreadPool& pool) {
  const int64_t share = area.bytes() / pool.threads() / kReadStep * kReadStep;
  std::atomic<uint64_t> sum{0};  // asked for, so that nothing is left out
  return measure(pool, static_cast<double>(pool.threads() * share),
                 [&](int64_t thread) { sum += read_once(area.data() + thread * share, share); });
}

double measure_barrier(ThreadPool& pool) {
  std::vector<double> took;
  for (double all = 0; std::ssize(took) < kBarriers && all < kBarrierSeconds; all += took.back()) {
    Meeting meeting(pool.threads());
    took.push_back(wall_seconds([&] { pool.run(pool.threads(), [&](int64_t, int) { meeting.wait(); }); }));
  }
  // Where other programs want the processors too, most loops wait for them; the fastest do not.
  const auto fast = took.begin() + std::ssize(took) / 20;
  std::nth_element(took.begin(), fast, took.end());
  return *fast;
}

}  // namespace indexshare::cpu
