#include "sample/sampler.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "sample/counter_rng.h"

namespace indexshare {
namespace {

using Candidate = SamplerWorkspace::Candidate;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

// A token e^60 times less probable than the best one is never drawn: with a billion of them the sum of
// probabilities would still round to the same double.
constexpr double kNegligible = 60.0;

// The first look at the best tokens nearly always holds all that top_p or the draw needs; where it does
// not, the next one is this much larger.
constexpr size_t kFirstLook = 256;
constexpr size_t kLookGrowth = 16;

bool has_penalties(const SamplingParams& params) {
  return params.repetition_penalty != 1.0f || params.frequency_penalty != 0.0f ||
         params.presence_penalty != 0.0f;
}

// The lowest id among the largest logits.
int32_t argmax(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

void suppress_all_but(std::span<const uint32_t> allowed, std::span<float> logits) {
  for (size_t id = 0; id < logits.size(); ++id) {
    const bool is_allowed = id / 32 < allowed.size() && ((allowed[id / 32] >> (id % 32)) & 1) != 0;
    if (!is_allowed) logits[id] = -kInfinity;
  }
}

int32_t first_allowed(size_t vocab_size, std::span<const int32_t> suppressed) {
  for (int32_t id = 0; id < static_cast<int64_t>(vocab_size); ++id) {
    if (std::find(suppressed.begin(), suppressed.end(), id) == suppressed.end()) return id;
  }
  return 0;
}

// The `count` best tokens with a logit above `bar`, best first. Reads the logits once: whenever twice as
// many have gathered the better half is kept, and the bar rises to its last.
void select_best(std::span<const float> logits, size_t count, float bar, std::vector<Candidate>& best) {
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  };
  const auto keep_better_half = [&] {
    std::nth_element(best.begin(), best.begin() + static_cast<ptrdiff_t>(count) - 1, best.end(), better);
    best.resize(count);
  };
  best.clear();
  count = std::min(count, logits.size());
  if (count == 0) return;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (!(logits[id] > bar)) continue;
    best.push_back({logits[id], static_cast<int32_t>(id)});
    if (best.size() == 2 * count) {
      keep_better_half();
      bar = best.back().logit;  // ids only grow from here on, so an equal logit comes too late
    }
  }
  if (best.size() > count) keep_better_half();
  std::sort(best.begin(), best.end(), better);
}

// The softmax's denominator over the logits above `bar`, as seen from the largest logit.
double sum_of_exp(std::span<const float> logits, float largest, double temperature, float bar) {
  double sum = 0.0;
  for (const float x : logits) {
    if (x > bar) sum += std::exp((double{x} - double{largest}) / temperature);
  }
  return sum;
}

// The largest float below which no token is kept: what min_p cuts off, or else what is negligible.
float cut_off(float largest, const SamplingParams& params) {
  const double depth =
      params.min_p > 0.0f ? std::min(-std::log(double{params.min_p}), kNegligible) : kNegligible;
  const double lowest = std::max(double{largest} - depth * double{params.temperature}, -double{kLargest});
  return std::nextafter(static_cast<float>(lowest), -kInfinity);
}

// The index drawn by `uniform` from the cumulative sums: of a list that is complete or only the head of
// one with the mass `total`. Empty: the head is too short to tell.
std::optional<size_t> draw_index(std::span<const double> cumulative, double total, bool complete, float top_p,
                                 double uniform) {
  double mass = total;
  if (top_p < 1.0f) {
    const auto last = std::lower_bound(cumulative.begin(), cumulative.end(), double{top_p} * total);
    if (last == cumulative.end() && !complete) return {};
    mass = last == cumulative.end() ? cumulative.back() : *last;
  }
  const auto drawn = std::upper_bound(cumulative.begin(), cumulative.end(), uniform * mass);
  if (drawn != cumulative.end()) return static_cast<size_t>(drawn - cumulative.begin());
  if (!complete) return {};
  // `total` was summed in another order and came out larger by a rounding: the last token with any mass.
  return static_cast<size_t>(std::lower_bound(cumulative.begin(), cumulative.end(), cumulative.back()) -
                             cumulative.begin());
}

}  // namespace

void remove_non_numbers(std::span<float> logits) {
  for (float& x : logits) x = std::isnan(x) ? -kInfinity : std::min(x, kLargest);
}

LogprobReport report_logprobs(std::span<const float> logits, int32_t id, int32_t top, SamplerWorkspace& ws) {
  ws.top.clear();
  const float largest = logits[static_cast<size_t>(argmax(logits))];
  const float chosen = logits[static_cast<size_t>(id)];
  const int64_t rank =
      1 + std::count_if(logits.begin(), logits.end(), [chosen](float x) { return x > chosen; });
  if (largest == -kInfinity) return {.logprob = -kInfinity, .rank = rank, .top = {}};
  const double log_sum = double{largest} + std::log(sum_of_exp(logits, largest, 1.0, -kInfinity));
  const auto logprob = [&](float logit) { return static_cast<float>(double{logit} - log_sum); };
  select_best(logits, static_cast<size_t>(top), -kInfinity, ws.candidates);
  for (const Candidate& c : ws.candidates) ws.top.push_back({c.id, logprob(c.logit)});
  return {.logprob = logprob(chosen), .rank = rank, .top = ws.top};
}

Sampler::Sampler(SamplingParams params, int64_t vocab_size, std::span<const int32_t> prompt)
    : params_(std::move(params)) {
  if (!has_penalties(params_)) return;
  uses_.resize(static_cast<size_t>(vocab_size));
  for (const int32_t id : prompt) {
    assert(id >= 0 && id < vocab_size);
    uses_[static_cast<size_t>(id)].in_prompt = 1;
  }
}

void Sampler::accept(int32_t id) {
  ++accepted_;
  if (uses_.empty()) return;
  assert(id >= 0 && static_cast<size_t>(id) < uses_.size());
  ++uses_[static_cast<size_t>(id)].in_output;
}

SampledToken Sampler::sample(std::span<float> logits, int64_t position, std::span<const int32_t> suppressed,
                             SamplerWorkspace& ws, std::span<const uint32_t> allowed) const {
  begin(logits, ws);
  if (!allowed.empty()) suppress_all_but(allowed, logits);
  transform(logits, suppressed);

  SampledToken token;
  const int32_t best = argmax(logits);
  const float largest = logits[static_cast<size_t>(best)];
  if (largest == -kInfinity) {
    token.exhausted = true;
    token.id = first_allowed(logits.size(), suppressed);
  } else if (params_.temperature == 0.0f) {
    token.id = best;
  } else {
    token.id = draw(logits, largest, uniform_draw(params_.seed, static_cast<uint64_t>(position)), ws);
  }
  add_logprobs(token, ws);
  return token;
}

SampledToken Sampler::report(std::span<float> logits, int32_t id, SamplerWorkspace& ws) const {
  begin(logits, ws);
  SampledToken token;
  token.id = id;
  add_logprobs(token, ws);
  return token;
}

void Sampler::begin(std::span<float> logits, SamplerWorkspace& ws) const {
  remove_non_numbers(logits);
  if (params_.logprobs) ws.raw.assign(logits.begin(), logits.end());
}

void Sampler::add_logprobs(SampledToken& token, SamplerWorkspace& ws) const {
  if (!params_.logprobs) return;
  const LogprobReport report = report_logprobs(ws.raw, token.id, *params_.logprobs, ws);
  token.logprob = report.logprob;
  token.rank = report.rank;
  token.top = report.top;
}

void Sampler::transform(std::span<float> logits, std::span<const int32_t> suppressed) const {
  for (const int32_t id : suppressed) logits[static_cast<size_t>(id)] = -kInfinity;
  for (const auto& [id, bias] : params_.logit_bias) logits[static_cast<size_t>(id)] += bias;
  const float repetition = params_.repetition_penalty;
  for (size_t id = 0; id < uses_.size(); ++id) {
    const Uses uses = uses_[id];
    if (uses.in_prompt == 0 && uses.in_output == 0) continue;
    float x = logits[id];
    x = x > 0.0f ? x / repetition : x * repetition;
    if (uses.in_output > 0) {
      x -= static_cast<float>(uses.in_output) * params_.frequency_penalty + params_.presence_penalty;
    }
    logits[id] = std::min(x, kLargest);
  }
}

int32_t Sampler::draw(std::span<const float> logits, float largest, double uniform,
                      SamplerWorkspace& ws) const {
  const double temperature = params_.temperature;
  const float bar = cut_off(largest, params_);
  const bool limited = params_.top_k > 0 && static_cast<size_t>(params_.top_k) < logits.size();
  const size_t limit = limited ? static_cast<size_t>(params_.top_k) : logits.size();
  const double sum = limited ? 0.0 : sum_of_exp(logits, largest, temperature, bar);

  for (size_t look = limited ? limit : std::min(kFirstLook, limit);;
       look = std::min(look * kLookGrowth, limit)) {
    select_best(logits, look, bar, ws.candidates);
    double cumulative = 0.0;
    ws.cumulative.clear();
    for (const Candidate& c : ws.candidates) {
      cumulative += std::exp((double{c.logit} - double{largest}) / temperature);
      ws.cumulative.push_back(cumulative);
    }
    const bool complete = look == limit || ws.candidates.size() < look;
    const double total = limited ? cumulative : sum;
    if (const auto index = draw_index(ws.cumulative, total, complete, params_.top_p, uniform)) {
      return ws.candidates[*index].id;
    }
  }
}

}  // namespace indexshare
