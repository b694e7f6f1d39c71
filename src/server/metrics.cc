// The one file that knows Prometheus' library. What the engine counts is read at each scrape; the rest is
// counted here as it happens.
#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <limits>

#include "base/file.h"

namespace indexshare::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Boundaries = prometheus::Histogram::BucketBoundaries;

// In seconds: prompts of a hundred thousand tokens may take minutes, tokens of the bundled model a
// millisecond.
const Boundaries kWaitBuckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,   2.5,
                                 5,     10,   25,    50,   100, 250,  500, 1000};
const Boundaries kTokenBuckets = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                  0.1,    0.25,  0.5,    1,     2.5,  5,     10};

struct EngineMetric {
  const char* name;
  MetricType type;
  const char* help;
  int64_t EngineStatistics::*value;
};

constexpr EngineMetric kEngineMetrics[] = {
    {"indexshare_requests_running", MetricType::Gauge, "Answers that are worked on.",
     &EngineStatistics::running},
    {"indexshare_requests_waiting", MetricType::Gauge, "Answers that wait to begin.",
     &EngineStatistics::waiting},
    {"indexshare_preemptions_total", MetricType::Counter,
     "Answers that gave their cache pages back and went on later.", &EngineStatistics::preempted},
    {"indexshare_prompt_tokens_total", MetricType::Counter, "Prompt tokens that were read.",
     &EngineStatistics::prompt_tokens},
    {"indexshare_cached_tokens_total", MetricType::Counter,
     "Prompt tokens that were kept from earlier requests, by answers that have ended.",
     &EngineStatistics::cached_tokens},
    {"indexshare_generated_tokens_total", MetricType::Counter, "Tokens that were generated.",
     &EngineStatistics::generated_tokens},
    {"indexshare_cache_pages_in_use", MetricType::Gauge, "Cache pages that hold something.",
     &EngineStatistics::pages_in_use},
    {"indexshare_cache_pages_kept", MetricType::Gauge, "Cache pages that later requests can share.",
     &EngineStatistics::pages_kept},
    {"indexshare_cache_bytes", MetricType::Gauge, "Memory that the cache has taken.",
     &EngineStatistics::cache_bytes},
    {"indexshare_cache_budget_bytes", MetricType::Gauge, "Memory that the cache may take.",
     &EngineStatistics::cache_budget_bytes},
    {"indexshare_disk_cache_pages", MetricType::Gauge, "Cache pages in files.",
     &EngineStatistics::disk_pages},
    {"indexshare_disk_cache_bytes", MetricType::Gauge, "Bytes of these files.",
     &EngineStatistics::disk_bytes},
    {"indexshare_disk_cache_pages_read_total", MetricType::Counter, "Cache pages that came from files.",
     &EngineStatistics::disk_pages_read},
    {"indexshare_disk_cache_pages_written_total", MetricType::Counter, "Cache pages that went to files.",
     &EngineStatistics::disk_pages_written},
    {"indexshare_disk_cache_pages_refused_total", MetricType::Counter,
     "Cache pages whose files were damaged or another model's.", &EngineStatistics::disk_pages_refused},
    {"indexshare_disk_cache_pages_not_kept_total", MetricType::Counter,
     "Cache pages that were lost because the disk was too slow or failed.",
     &EngineStatistics::disk_pages_not_kept},
};

ClientMetric metric_of(MetricType type, double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  return metric;
}

MetricFamily family_of(const EngineMetric& row, const EngineStatistics& now) {
  return {row.name, row.help, row.type, {metric_of(row.type, static_cast<double>(now.*row.value))}};
}

MetricFamily outcomes_of(const EngineStatistics& now) {
  MetricFamily family = {
      "indexshare_requests_ended_total", "Answers that have ended, by how.", MetricType::Counter, {}};
  for (const auto& [outcome, count] : {std::pair("finished", now.finished), std::pair("failed", now.failed),
                                       std::pair("cancelled", now.cancelled)}) {
    family.metric.push_back(
        metric_of(MetricType::Counter, static_cast<double>(count), {{"outcome", outcome}}));
  }
  return family;
}

// A counter by part of the model.
template <typename Value>
MetricFamily parts_of(const char* name, const char* help, Value value) {
  MetricFamily family = {name, help, MetricType::Counter, {}};
  for (int i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    family.metric.push_back(metric_of(MetricType::Counter, static_cast<double>(value(part)),
                                      {{"part", std::string(part_name(part))}}));
  }
  return family;
}

MetricFamily step_sizes_of(const EngineStatistics& now) {
  ClientMetric metric;
  metric.histogram.sample_count = static_cast<uint64_t>(now.steps);
  metric.histogram.sample_sum = static_cast<double>(now.step_tokens);
  uint64_t count = 0;
  for (size_t i = 0; i < now.steps_by_tokens.size(); ++i) {
    count += static_cast<uint64_t>(now.steps_by_tokens[i]);
    const bool last = i + 1 == now.steps_by_tokens.size();
    metric.histogram.bucket.push_back(
        {count, last ? std::numeric_limits<double>::infinity() : static_cast<double>(int64_t{1} << i)});
  }
  return {"indexshare_step_tokens",
          "Tokens of a forward pass, prompts and answers together.",
          MetricType::Histogram,
          {std::move(metric)}};
}

MetricFamily info_of(const ModelInfo& info) {
  return {"indexshare_info",
          "What runs, in its labels.",
          MetricType::Gauge,
          {metric_of(MetricType::Gauge, 1,
                     {{"version", INDEXSHARE_VERSION}, {"isa", info.isa}, {"schedule", info.schedule}})}};
}

// The second number of statm, in pages; none where the system has no such file.
MetricFamily resident_memory() {
  MetricFamily family = {
      "process_resident_memory_bytes", "Resident memory of the process.", MetricType::Gauge, {}};
  const Result<std::string> text = read_file("/proc/self/statm", 4096);
  if (!text.ok()) return family;
  const size_t begin = text->find(' ') + 1;
  int64_t pages = 0;
  std::from_chars(text->data() + begin, text->data() + text->size(), pages);
  family.metric.push_back(metric_of(MetricType::Gauge, static_cast<double>(pages * ::sysconf(_SC_PAGESIZE))));
  return family;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

struct Metrics::Collected {
  prometheus::Histogram& histogram(const char* name, const char* help, const Boundaries& buckets) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
  }
  prometheus::Counter& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
  }

  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests =
      prometheus::BuildCounter()
          .Name("indexshare_http_requests_total")
          .Help("HTTP requests that have ended, by route and status.")
          .Register(registry);
  prometheus::Family<prometheus::Histogram>& request_seconds =
      prometheus::BuildHistogram()
          .Name("indexshare_http_request_duration_seconds")
          .Help("Time from the whole request to the end of its answer, by route.")
          .Register(registry);
  prometheus::Histogram& first_token =
      histogram("indexshare_time_to_first_token_seconds",
                "Time from the whole request to the first token of an answer to it.", kWaitBuckets);
  prometheus::Histogram& next_token = histogram("indexshare_time_between_tokens_seconds",
                                                "Time from a token of an answer to the next.", kTokenBuckets);
  prometheus::Histogram& queue =
      histogram("indexshare_queue_seconds", "Time that an answer waited to begin.", kWaitBuckets);
  prometheus::Counter& lookups =
      counter("indexshare_prefix_lookups_total", "Prompts that were looked up in the cache.");
  prometheus::Counter& hits =
      counter("indexshare_prefix_hits_total", "Prompts of which the cache held a beginning.");
  std::array<prometheus::Counter*, kPrefixEnds> prefix_ends;
  double started = seconds_since_1970();
};

Metrics::Metrics() : collected_(std::make_unique<Collected>()) {
  auto& family = prometheus::BuildCounter()
                     .Name("indexshare_prefix_ends_total")
                     .Help("Prompts by why the cache held no more of them.")
                     .Register(collected_->registry);
  for (size_t i = 0; i < collected_->prefix_ends.size(); ++i) {
    const std::string reason(prefix_end_name(static_cast<PrefixEnd>(i)));
    collected_->prefix_ends[i] = &family.Add({{"reason", reason}});
  }
}
Metrics::~Metrics() = default;

void Metrics::observe_request(std::string_view route, int status, double seconds) {
  const std::string name(route);
  collected_->requests.Add({{"route", name}, {"status", status == 0 ? "gone" : std::to_string(status)}})
      .Increment();
  collected_->request_seconds.Add({{"route", name}}, kWaitBuckets).Observe(seconds);
}

void Metrics::observe_first_token(double seconds) {
  collected_->first_token.Observe(seconds);
}

void Metrics::observe_next_token(double seconds) {
  collected_->next_token.Observe(seconds);
}

void Metrics::observe_answer(const GenerationResult& result) {
  collected_->queue.Observe(result.timings.queue_seconds);
  collected_->lookups.Increment();
  if (result.cached_tokens > 0) collected_->hits.Increment();
  collected_->prefix_ends[static_cast<size_t>(result.prefix_end)]->Increment();
}

std::string Metrics::text(const Engine& engine) const {
  const EngineStatistics now = engine.statistics();
  std::vector<MetricFamily> families = collected_->registry.Collect();
  for (const EngineMetric& row : kEngineMetrics) families.push_back(family_of(row, now));
  families.push_back(outcomes_of(now));
  families.push_back(step_sizes_of(now));
  families.push_back(parts_of("indexshare_step_seconds_total",
                              "Time in forward passes, by part of the model.",
                              [&](Part part) { return now.work.seconds(part); }));
  families.push_back(parts_of("indexshare_flops_total", "Floating-point operations, by part of the model.",
                              [&](Part part) { return now.work.flops(part); }));
  families.push_back(info_of(engine.info()));
  families.push_back(resident_memory());
  families.push_back({"process_start_time_seconds",
                      "When the server began, in seconds since 1970.",
                      MetricType::Gauge,
                      {metric_of(MetricType::Gauge, collected_->started)}});
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace indexshare::server
