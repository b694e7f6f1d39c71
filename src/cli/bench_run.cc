#include "cli/bench_run.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>

#include "base/error.h"
#include "cli/bench_fill.h"
#include "model/parameters.h"

namespace indexshare::cli {
namespace {

// A measurement that has had its first round and this many seconds is not repeated: prefill at a million
// tokens takes minutes.
constexpr double kEnoughSeconds = 20;

constexpr int64_t kWarmingTokens = 32;  // from here on a pass is long enough to start cold

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

// Counts the experts that a pass reads: of each layer those that some token of the batch goes to.
class ExpertCounter final : public Probe {
 public:
  explicit ExpertCounter(int64_t experts) : seen_(static_cast<size_t>(experts)) {}

  void hidden(int64_t, Tensor) override {}
  void selection(int64_t, const Selection&) override {}
  void routing(int64_t, const Routing& routing) override {
    std::fill(seen_.begin(), seen_.end(), false);
    for (const int32_t id : routing.ids.span()) {
      if (!seen_[static_cast<size_t>(id)]) ++count_;
      seen_[static_cast<size_t>(id)] = true;
    }
  }

  int64_t count() const { return count_; }

 private:
  std::vector<bool> seen_;
  int64_t count_ = 0;
};

// What one forward pass reads from memory at the least.
class PassBytes {
 public:
  explicit PassBytes(const ModelRunner& runner) : config_(runner.config()) {
    const Weights& weights = runner.model().weights();
    const WeightBytes bytes = weight_bytes(config_, weights);
    const int64_t layers = std::count(config_.mlp_sparse.begin(), config_.mlp_sparse.end(), true);
    expert_ = layers == 0 ? 0 : bytes.routed_experts / (layers * config_.n_routed_experts);
    without_experts_ = bytes.active_per_token - layers * config_.num_experts_per_tok * expert_;
    head_ = weights.lm_head.rows * weights.lm_head.row_bytes();
  }

  int64_t of(const Batch& batch, int64_t experts, const CacheLayout& layout) const {
    int64_t bytes = without_experts_ + experts * expert_ - (batch.logit_rows.empty() ? head_ : 0);
    for (const Segment& segment : batch.segments) {
      const int64_t length = segment.position + segment.rows;
      const int64_t rows = std::min(length, segment.rows * std::min(length, config_.index_topk));
      bytes += rows * layout.latent_bytes_per_token();
      if (length > config_.index_topk) bytes += length * layout.index_bytes_per_token();
    }
    return bytes;
  }

 private:
  const Config& config_;
  int64_t without_experts_ = 0, expert_ = 0, head_ = 0;
};

// One timed step or prompt, per token.
struct Sample {
  BenchTimes times;
  double flops = 0, bytes = 0;
};

// All samples of one row of the table.
struct Series {
  BenchResult result;
  std::vector<Sample> samples;
  double seconds = 0;

  bool is_done() const { return !samples.empty() && seconds > kEnoughSeconds; }

  BenchResult summary() const {
    BenchResult r = result;
    auto middle = [&](auto figure) {
      std::vector<double> values;
      for (const Sample& sample : samples) values.push_back(figure(sample));
      return median(std::move(values));
    };
    r.runs = std::ssize(samples);
    r.median.wall = middle([](const Sample& s) { return s.times.wall; });
    r.median.cpu = middle([](const Sample& s) { return s.times.cpu; });
    for (size_t part = 0; part < kParts; ++part) {
      r.median.parts[part] = middle([&](const Sample& s) { return s.times.parts[part]; });
    }
    r.flops = middle([](const Sample& s) { return s.flops; });
    r.bytes = middle([](const Sample& s) { return s.bytes; });
    r.least_cpu = samples.front().times.cpu;
    for (const Sample& sample : samples) r.least_cpu = std::min(r.least_cpu, sample.times.cpu);
    return r;
  }
};

// One variant's engine with its sequences.
class Subject {
 public:
  explicit Subject(std::unique_ptr<ModelRunner> runner)
      : runner_(std::move(runner)), pass_bytes_(*runner_), generator_(11) {}

  const ModelRunner& runner() const { return *runner_; }

  /// Grows every buffer to what measuring needs, so that no run pays for it.
  Result<void> warm_up(const BenchPlan& plan) {
    if (plan.prefill_tokens == 0) return {};
    caches_.emplace_back(runner_->pool());
    const auto sample = run(1, std::min(plan.prefill_tokens, runner_->options().chunk));
    caches_.clear();
    return sample ? Result<void>() : sample.error();
  }

  /// Has `batch` sequences of `depth` tokens; the first are kept from before.
  Result<void> prepare(int64_t batch, int64_t depth, CacheFiller& filler) {
    while (std::ssize(caches_) > batch) caches_.pop_back();
    while (std::ssize(caches_) < batch) caches_.emplace_back(runner_->pool());
    for (SequenceCache& cache : caches_) RETURN_IF_ERROR(filler.fill(*runner_, cache, depth));
    return {};
  }

  /// The next `tokens` random tokens of the first `batch` sequences in passes of at most a chunk, timed.
  Result<Sample> run(int64_t batch, int64_t tokens) {
    const Work before = runner_->model().backend().profile().work();
    const auto start = std::chrono::steady_clock::now();
    const double cpu_start = cpu_seconds();
    int64_t bytes = 0;
    for (int64_t done = 0; done < tokens;) {
      const int64_t n = std::min(runner_->options().chunk, tokens - done);
      ASSIGN_OR_RETURN(const int64_t pass, forward(batch, n, done + n == tokens));
      bytes += pass;
      done += n;
    }
    const double per_token = 1.0 / static_cast<double>(batch * tokens);
    Sample sample;
    sample.times.cpu = 1e3 * (cpu_seconds() - cpu_start) * per_token;
    sample.times.wall =
        1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * per_token;
    const Work work = runner_->model().backend().profile().work() - before;
    for (size_t part = 0; part < kParts; ++part) {
      sample.times.parts[part] = 1e3 * work.seconds(static_cast<Part>(part)) * per_token;
    }
    sample.flops = static_cast<double>(work.total_flops()) * per_token;
    sample.bytes = static_cast<double>(bytes) * per_token;
    return sample;
  }

 private:
  // One pass; returns the bytes it must read.
  Result<int64_t> forward(int64_t batch, int64_t tokens, bool with_logits) {
    BatchBuilder& builder = runner_->builder();
    builder.clear();
    tokens_.resize(static_cast<size_t>(tokens));
    const auto vocab = static_cast<uint64_t>(runner_->config().vocab_size);
    for (int64_t i = 0; i < batch; ++i) {
      for (int32_t& token : tokens_) token = static_cast<int32_t>(generator_() % vocab);
      SequenceCache& cache = caches_[static_cast<size_t>(i)];
      RETURN_IF_ERROR(cache.extend(tokens));
      builder.add(cache, tokens_, with_logits ? LogitsFor::last : LogitsFor::none);
    }
    ExpertCounter counter(runner_->config().n_routed_experts);
    runner_->forward(builder.batch(), &counter);
    return pass_bytes_.of(builder.batch(), counter.count(), runner_->pool().layout());
  }

  std::unique_ptr<ModelRunner> runner_;
  PassBytes pass_bytes_;
  std::vector<SequenceCache> caches_;
  std::mt19937_64 generator_;
  std::vector<int32_t> tokens_;
};

// What is measured at a depth: `runs` runs in each round of `tokens` tokens for each of `batch` sequences.
struct Measurement {
  const char* phase;
  int64_t batch, tokens, runs;
};

std::vector<Measurement> measurements_of(const BenchPlan& plan) {
  std::vector<Measurement> measurements;
  if (plan.prefill_tokens > 0) measurements.push_back({"prefill", 1, plan.prefill_tokens, 1});
  if (plan.decode_steps == 0) return measurements;
  for (const int64_t batch : plan.batches) measurements.push_back({"decode", batch, 1, plan.decode_steps});
  return measurements;
}

class Bench {
 public:
  Bench(const BenchModel& model, const BenchPlan& plan, FunctionRef<void(int64_t, int64_t)> progress)
      : model_(model), plan_(plan), measurements_(measurements_of(plan)), progress_(progress) {}

  Result<std::vector<BenchResult>> run() {
    std::vector<BenchResult> results;
    for (const int64_t depth : plan_.depths) {
      RETURN_IF_ERROR(measure_depth(depth));
      for (const Series& series : series_) results.push_back(series.summary());
    }
    return results;
  }

 private:
  Result<void> measure_depth(int64_t depth) {
    const size_t variants = model_.variants().size();
    series_.assign(measurements_.size() * variants, {});
    for (int64_t round = 0; round < plan_.repeats; ++round) {
      for (size_t turn = 0; turn < variants; ++turn) {
        // Forth and back: the variant that ends a round begins the next one, its caches still filled.
        const size_t variant = round % 2 == 0 ? turn : variants - 1 - turn;
        for (size_t i = 0; i < measurements_.size(); ++i) {
          progress_(done_++, std::ssize(plan_.depths) * plan_.repeats * std::ssize(series_));
          Series& series = series_[i * variants + variant];
          if (!series.is_done()) RETURN_IF_ERROR(measure(measurements_[i], variant, depth, series));
        }
      }
    }
    return {};
  }

  // One round of one series.
  Result<void> measure(const Measurement& what, size_t variant, int64_t depth, Series& series) {
    RETURN_IF_ERROR(use(variant));
    RETURN_IF_ERROR(subject_->prepare(what.batch, depth, filler_));
    if (what.tokens < kWarmingTokens) {  // the first pass after filling is slower
      ASSIGN_OR_RETURN([[maybe_unused]] const Sample warming, subject_->run(what.batch, what.tokens));
    }
    for (int64_t i = 0; i < what.runs && !series.is_done(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      ASSIGN_OR_RETURN(const Sample sample, subject_->run(what.batch, what.tokens));
      series.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      series.samples.push_back(sample);
    }
    if (series.result.phase.empty()) series.result = describe(what, depth);
    series.result.peak_rss_bytes = peak_rss_bytes();
    return {};
  }

  // Only one engine at a time: two caches of a million tokens need not fit.
  Result<void> use(size_t variant) {
    if (subject_ && variant_ == variant) return {};
    subject_.reset();
    ASSIGN_OR_RETURN(auto runner, model_.runner(model_.variants()[variant]));
    if (plan_.longest() > runner->options().context) {
      return make_error("the deepest sequence to measure has {} tokens, more than the context of {}",
                        plan_.longest(), runner->options().context);
    }
    subject_.emplace(std::move(runner));
    variant_ = variant;
    return subject_->warm_up(plan_);
  }

  BenchResult describe(const Measurement& what, int64_t depth) const {
    const ModelRunner& runner = subject_->runner();
    const Config& config = runner.config();
    BenchResult result;
    result.phase = what.phase;
    result.depth = depth;
    result.batch = what.batch;
    result.threads = runner.backend().threads();
    result.pattern = config.schedule();
    result.dtype = dtype_name(runner.model().weights().layers[0].self_attn.q_b_proj.dtype);
    result.isa = runner.backend().isa();
    result.compute = *runner.options().compute;
    result.weight_bytes = weight_bytes(config, runner.model().weights()).active_per_token;
    result.formula = flops_per_token(config, static_cast<double>(config.full_layers()),
                                     depth + (what.tokens + 1) / 2, AttentionForm::latent);
    return result;
  }

  const BenchModel& model_;
  const BenchPlan& plan_;
  std::vector<Measurement> measurements_;
  FunctionRef<void(int64_t, int64_t)> progress_;
  int64_t done_ = 0;
  CacheFiller filler_;
  std::optional<Subject> subject_;
  size_t variant_ = 0;
  std::vector<Series> series_;  // [measurements][variants] at one depth
};

}  // namespace

int64_t BenchPlan::longest() const {
  return *std::max_element(depths.begin(), depths.end()) + std::max(prefill_tokens, decode_steps + 1);
}

Result<std::vector<BenchResult>> run_bench(const BenchModel& model, const BenchPlan& plan,
                                           FunctionRef<void(int64_t, int64_t)> progress) {
  return Bench(model, plan, progress).run();
}

}  // namespace indexshare::cli
