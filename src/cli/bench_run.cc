#include "cli/bench_run.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include "base/error.h"
#include "model/parameters.h"

namespace indexshare::cli {
namespace {

constexpr int64_t kPoolValues = 1 << 22;  // random values that the cache is filled from

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Normal values in the cache's type, to be copied from random places.
class ValuePool {
 public:
  explicit ValuePool(DType dtype)
      : bytes_(static_cast<size_t>(kPoolValues * dtype_bytes(dtype))), size_(dtype_bytes(dtype)) {
    std::mt19937 generator(7);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < kPoolValues; ++i) {
      const float x = normal(generator);
      const bf16 rounded = to_bf16(x);
      std::byte* to = bytes_.data() + i * size_;
      if (dtype == DType::bf16) {
        std::memcpy(to, &rounded, sizeof(rounded));
      } else {
        std::memcpy(to, &x, sizeof(x));
      }
    }
  }

  void fill(std::byte* to, int64_t bytes) {
    while (bytes > 0) {
      const auto place = static_cast<int64_t>(generator_() % (kPoolValues / 2)) * size_;
      const int64_t n = std::min<int64_t>(bytes, std::ssize(bytes_) - place);
      std::memcpy(to, bytes_.data() + place, static_cast<size_t>(n));
      to += n;
      bytes -= n;
    }
  }

 private:
  std::vector<std::byte> bytes_;
  int64_t size_;
  std::mt19937 generator_{1};
};

// Makes a sequence `depth` tokens long.
Result<void> fill_to(SequenceCache& cache, int64_t depth, ValuePool& pool) {
  const int64_t from = cache.length();
  RETURN_IF_ERROR(cache.extend(depth - from));
  const CacheLayout& layout = cache.layout();
  for (int64_t page = from / kPageTokens * kPageTokens; page < depth; page += kPageTokens) {
    for (int64_t layer = 0; layer < layout.layers(); ++layer) {
      pool.fill(cache.latent_row(layer, page), kPageTokens * layout.latent_row_bytes());
      if (layout.index_slot[static_cast<size_t>(layer)] >= 0) {
        pool.fill(cache.index_block(layer, page), layout.index_area_bytes());
      }
    }
  }
  return {};
}

class Bench {
 public:
  Bench(Engine& engine, const BenchPlan& plan)
      : engine_(engine), plan_(plan), pool_(engine.pool().layout().dtype), generator_(11) {}

  Result<BenchResult> decode(int64_t depth, int64_t batch) {
    std::vector<SequenceCache> caches;
    for (int64_t i = 0; i < batch; ++i) {
      caches.emplace_back(engine_.pool());
      RETURN_IF_ERROR(fill_to(caches.back(), depth, pool_));
    }
    RETURN_IF_ERROR(step(caches, 1, LogitsFor::last));  // touches every weight once
    BenchResult result = describe("decode", depth, batch);
    const Profile before = engine_.model().backend().profile();
    std::vector<double> wall, cpu;
    for (int64_t i = 0; i < plan_.decode_steps; ++i) {
      RETURN_IF_ERROR(timed(caches, 1, LogitsFor::last, wall, cpu));
    }
    finish(result, before, plan_.decode_steps * batch, static_cast<double>(batch), wall, cpu);
    return result;
  }

  Result<BenchResult> prefill(int64_t depth) {
    BenchResult result = describe("prefill", depth, 1);
    std::vector<SequenceCache> caches;
    caches.emplace_back(engine_.pool());
    RETURN_IF_ERROR(fill_to(caches[0], depth, pool_));
    const Profile before = engine_.model().backend().profile();
    std::vector<double> wall, cpu;
    for (int64_t i = 0; i < plan_.repeats; ++i) {
      RETURN_IF_ERROR(timed(caches, plan_.prefill_tokens, LogitsFor::last, wall, cpu));
      caches[0].truncate(depth);
    }
    finish(result, before, plan_.repeats * plan_.prefill_tokens, static_cast<double>(plan_.prefill_tokens),
           wall, cpu);
    return result;
  }

 private:
  // The next `tokens` random tokens of every sequence in forward passes of at most a chunk.
  Result<void> step(std::vector<SequenceCache>& caches, int64_t tokens, LogitsFor logits) {
    for (int64_t done = 0; done < tokens;) {
      const int64_t n = std::min(engine_.options().chunk, tokens - done);
      BatchBuilder& builder = engine_.builder();
      builder.clear();
      tokens_.resize(static_cast<size_t>(n));
      for (SequenceCache& cache : caches) {
        for (int32_t& token : tokens_) {
          token = static_cast<int32_t>(generator_() % static_cast<uint64_t>(engine_.config().vocab_size));
        }
        RETURN_IF_ERROR(cache.extend(n));
        builder.add(cache, tokens_, done + n == tokens ? logits : LogitsFor::none);
      }
      engine_.forward(builder.batch());
      done += n;
    }
    return {};
  }

  Result<void> timed(std::vector<SequenceCache>& caches, int64_t tokens, LogitsFor logits,
                     std::vector<double>& wall, std::vector<double>& cpu) {
    const auto start = std::chrono::steady_clock::now();
    const double cpu_start = cpu_seconds();
    RETURN_IF_ERROR(step(caches, tokens, logits));
    cpu.push_back(cpu_seconds() - cpu_start);
    wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return {};
  }

  BenchResult describe(const char* phase, int64_t depth, int64_t batch) const {
    BenchResult result;
    result.phase = phase;
    result.depth = depth;
    result.batch = batch;
    result.threads = engine_.backend().threads();
    result.pattern = engine_.config().schedule();
    result.dtype = dtype_name(engine_.model().weights().layers[0].self_attn.q_b_proj.dtype);
    result.isa = engine_.backend().isa();
    result.weight_bytes = weight_bytes(engine_.config(), engine_.model().weights()).active_per_token;
    return result;
  }

  void finish(BenchResult& result, const Profile& before, int64_t tokens, double tokens_per_step,
              const std::vector<double>& wall, const std::vector<double>& cpu) const {
    result.profile = engine_.model().backend().profile().since(before);
    result.tokens = tokens;
    result.ms_per_token = 1e3 * median(wall) / tokens_per_step;
    result.cpu_ms_per_token = 1e3 * median(cpu) / tokens_per_step;
    result.peak_rss_bytes = peak_rss_bytes();
  }

  Engine& engine_;
  const BenchPlan& plan_;
  ValuePool pool_;
  std::mt19937_64 generator_;
  std::vector<int32_t> tokens_;
};

}  // namespace

Result<std::vector<BenchResult>> run_bench(Engine& engine, const BenchPlan& plan,
                                           FunctionRef<void(const std::string&)> progress) {
  std::vector<BenchResult> results;
  Bench bench(engine, plan);
  for (const int64_t depth : plan.depths) {
    const int64_t longest = depth + std::max(plan.prefill_tokens, plan.decode_steps + 1);
    if (longest > engine.options().context) {
      return make_error("depth {} and the measured tokens are more than the context of {}", depth,
                        engine.options().context);
    }
    if (plan.prefill_tokens > 0) {
      progress(fmt::format("prefill at depth {}", depth));
      ASSIGN_OR_RETURN(BenchResult result, bench.prefill(depth));
      results.push_back(std::move(result));
    }
    for (const int64_t batch : plan.batches) {
      if (plan.decode_steps == 0) break;
      progress(fmt::format("decode at depth {}, batch {}", depth, batch));
      ASSIGN_OR_RETURN(BenchResult result, bench.decode(depth, batch));
      results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace indexshare::cli
