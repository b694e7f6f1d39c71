#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "cpu/every_backend.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kHidden = 69;  // crosses a work item of 64 outputs

struct OwnedMlp {
  StoredMatrix gate, up, down;
  MlpWeights view() const { return {gate.view, up.view, down.view}; }
};

OwnedMlp random_mlp(const Storage& storage, int64_t intermediate, Random& random) {
  return {random_matrix(storage, intermediate, kHidden, random),
          random_matrix(storage, intermediate, kHidden, random),
          random_matrix(storage, kHidden, intermediate, random)};
}

/// Routed experts of several widths, the last of which no token may touch, and a shared one.
struct Layer {
  std::deque<OwnedMlp> owned;
  std::vector<MlpWeights> experts;
  OwnedMlp shared_owned;
  MlpWeights shared;

  Layer(const Storage& storage, Random& random)
      : shared_owned(random_mlp(storage, 130, random)), shared(shared_owned.view()) {
    for (const int64_t intermediate : {70, 64, 1, 33}) {
      owned.push_back(random_mlp(storage, intermediate, random));
      experts.push_back(owned.back().view());
    }
    experts.emplace_back();
  }
};

/// Each token goes to `k` of the first four experts, most of them to the first.
Routing random_routing(int64_t tokens, int64_t k, Random& random) {
  Routing routing;
  routing.experts_per_token = k;
  routing.ids.resize(tokens * k);
  routing.weights.resize(tokens * k);
  for (int64_t t = 0; t < tokens; ++t) {
    std::vector<int32_t> ids = {0, 1, 2, 3};
    while (std::ssize(ids) > k)
      ids.erase(ids.begin() + (random.below(8) == 0 ? 0 : random.below(std::ssize(ids))));
    for (int64_t i = 0; i < k; ++i) {
      routing.ids[t * k + i] = ids[static_cast<size_t>(i)];
      routing.weights[t * k + i] = random.normal();
    }
  }
  return routing;
}

/// The part of a routing that is of one token.
Routing routing_of(const Routing& all, int64_t t) {
  Routing one;
  const int64_t k = one.experts_per_token = all.experts_per_token;
  one.ids.resize(k);
  one.weights.resize(k);
  std::copy_n(all.ids.data() + t * k, k, one.ids.data());
  std::copy_n(all.weights.data() + t * k, k, one.weights.data());
  return one;
}

/// down(silu(gate x) * up x).
std::vector<Bounded> bounded_mlp(std::span<const float> x, const OwnedMlp& mlp, FloatType compute) {
  std::vector<Bounded> activations;
  for (int64_t i = 0; i < mlp.gate.view.rows; ++i) {
    const Bounded gate = bounded_dot(x, mlp.gate.row(i));
    const Bounded up = bounded_dot(x, mlp.up.row(i));
    const double silu = gate.value / (1 + std::exp(-gate.value));
    const double silu_error = 1.1 * gate.error;  // the slope of silu is below 1.1
    Bounded product = {silu * up.value,
                       std::abs(silu) * up.error + (std::abs(up.value) + up.error) * silu_error};
    product.error += (kExpError + gamma_of(4)) * (std::abs(product.value) + product.error) + kSubnormal;
    if (compute == FloatType::bf16) product.error += kBf16Unit * (std::abs(product.value) + product.error);
    activations.push_back(product);
  }
  std::vector<Bounded> y;
  for (int64_t j = 0; j < mlp.down.view.rows; ++j) y.push_back(bounded_dot(activations, mlp.down.row(j)));
  return y;
}

std::vector<Bounded> expected_experts(const Rows& x, const Layer& layer, const Routing& routing, bool shared,
                                      FloatType compute) {
  std::vector<Bounded> y;
  const int64_t k = routing.experts_per_token;
  for (int64_t t = 0; t < x.rows; ++t) {
    std::vector<float> row(x.row(t).begin(), x.row(t).end());
    if (compute == FloatType::bf16) {
      for (float& v : row) v = round_to_bf16(v);
    }
    std::vector<std::vector<Bounded>> parts;
    std::vector<float> weights;
    for (int64_t i = 0; i < k; ++i) {
      parts.push_back(bounded_mlp(row, layer.owned[static_cast<size_t>(routing.ids[t * k + i])], compute));
      weights.push_back(routing.weights[t * k + i]);
    }
    if (shared) {
      parts.push_back(bounded_mlp(row, layer.shared_owned, compute));
      weights.push_back(1.0f);
    }
    for (size_t j = 0; j < kHidden; ++j) {
      std::vector<Bounded> terms;
      for (const auto& part : parts) terms.push_back(part[j]);
      y.push_back(bounded_dot(terms, weights));
    }
  }
  return y;
}

std::vector<float> run_experts(CpuBackend& backend, Rows x, const Layer& layer, const Routing& routing,
                               bool shared) {
  Rows y(x.rows, kHidden);
  int64_t rows = 0;  // of weight matrices that tokens go through
  for (const int32_t e : routing.ids.span()) rows += layer.experts[static_cast<size_t>(e)].gate_proj.rows;
  if (shared) rows += x.rows * layer.shared.gate_proj.rows;
  const int64_t flops = flops_of(backend, [&] {
    backend.experts(x.view(), layer.experts, routing, shared ? &layer.shared : nullptr, y.view());
  });
  EXPECT_EQ(flops, 3 * 2 * rows * kHidden);
  return y.values;
}

class ExpertsTest : public testing::TestWithParam<FloatType> {};
INSTANTIATE_TEST_SUITE_P(Compute, ExpertsTest, testing::Values(FloatType::f32, FloatType::bf16),
                         [](const auto& instance) {
                           return std::string(instance.param == FloatType::f32 ? "f32" : "bf16");
                         });

TEST_P(ExpertsTest, AreTheWeightedSumOfTheirMlps) {
  Random random(1);
  for (const Storage& storage :
       {Storage{DType::f32}, Storage{DType::bf16}, Storage{DType::fp8_e4m3, 16, 16}}) {
    const Layer layer(storage, random);
    for (const int64_t tokens : {1, 3, 40}) {  // 40: more than go against a tile together
      for (const bool shared : {false, true}) {
        SCOPED_TRACE(storage.name() + ", tokens " + std::to_string(tokens) + (shared ? ", shared" : ""));
        const Rows x = random_rows(tokens, kHidden, random, 2);
        const Routing routing = random_routing(tokens, 2, random);
        const auto results = run_everywhere(
            GetParam(), [&](CpuBackend& backend) { return run_experts(backend, x, layer, routing, shared); });
        const auto expected = expected_experts(x, layer, routing, shared, GetParam());
        for (const auto& result : results) ASSERT_NO_FATAL_FAILURE(expect_within(result, expected));
      }
    }
  }
}

TEST_P(ExpertsTest, ATokenDoesNotDependOnTheBatch) {
  Random random(2);
  const Layer layer({DType::bf16}, random);
  const Rows x = random_rows(40, kHidden, random);
  const Routing routing = random_routing(40, 3, random);
  for (const auto& backend : every_backend(GetParam())) {
    const std::vector<float> batch = run_experts(*backend, x, layer, routing, true);
    for (const int64_t t : {0, 17, 32, 39}) {
      Rows alone(1, kHidden);
      std::ranges::copy(x.row(t), alone.row(0).begin());
      const std::vector<float> single = run_experts(*backend, alone, layer, routing_of(routing, t), true);
      EXPECT_TRUE(same_bits(single, std::span(batch).subspan(static_cast<size_t>(t * kHidden), kHidden)))
          << backend->isa() << ", threads " << backend->threads() << ", token " << t;
    }
  }
}

TEST_P(ExpertsTest, ADenseMlpIsTheSharedExpertAlone) {
  Random random(3);
  const Layer layer({DType::bf16}, random);
  Rows x = random_rows(35, kHidden, random);
  const auto results = run_everywhere(GetParam(), [&](CpuBackend& backend) {
    Rows y(x.rows, kHidden, 4);
    const int64_t flops = flops_of(backend, [&] { backend.mlp(x.view(), layer.shared, y.view()); });
    EXPECT_EQ(flops, 3 * 2 * x.rows * layer.shared.gate_proj.rows * kHidden);
    EXPECT_TRUE(y.gaps_untouched());
    std::vector<float> packed;
    for (int64_t t = 0; t < y.rows; ++t) packed.insert(packed.end(), y.row(t).begin(), y.row(t).end());
    return packed;
  });
  const auto expected = expected_experts(x, layer, Routing(), true, GetParam());
  for (const auto& result : results) expect_within(result, expected);
}

// What goes into down_proj are numbers of bf16: with one of 1, they come out.
TEST(Experts, Bf16ComputeRoundsActivations) {
  Random random(4);
  OwnedMlp mlp = random_mlp({DType::f32}, 1, random);
  std::ranges::fill(std::span(reinterpret_cast<float*>(mlp.down.bytes.data()), kHidden + 1), 1.0f);
  Rows x = random_rows(20, kHidden, random), y(20, kHidden);
  for (const auto& backend : every_backend(FloatType::bf16)) {
    backend->mlp(x.view(), mlp.view(), y.view());
    for (int64_t t = 0; t < y.rows; ++t) {
      for (const float v : y.row(t)) ASSERT_EQ(v, round_to_bf16(v));
    }
  }
}

}  // namespace
}  // namespace indexshare::cpu
