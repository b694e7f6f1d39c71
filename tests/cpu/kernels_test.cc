// The kernels over one row of every table, against the formula in double; the error bounds follow from the
// operations that the scalar table spells out. (Products: matmul_test.cc. Index scores:
// index_scores_test.cc.)
#include "cpu/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "cpu/each_table.h"
#include "cpu/support.h"

namespace indexshare::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kLengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 576};

const Kernels& scalar() {
  return *available_kernels().front();
}

TEST(KernelTables, ScalarComesFirst) {
  std::string names;
  for (const Kernels* table : available_kernels()) names += std::string(" ") + table->name;
  std::printf("kernel tables of this machine:%s\n", names.c_str());
  EXPECT_STREQ(scalar().name, "scalar");
}

TEST(KernelTables, TheEnvironmentNamesOne) {
  const char* before = std::getenv("INDEXSHARE_ISA");
  const std::string restore = before != nullptr ? before : "";
  for (const Kernels* table : available_kernels()) {
    setenv("INDEXSHARE_ISA", table->name, 1);
    const auto chosen = choose_kernels();
    ASSERT_TRUE(chosen.ok());
    EXPECT_EQ(*chosen, table);
  }
  setenv("INDEXSHARE_ISA", "sse9", 1);
  const auto unknown = choose_kernels();
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("\"sse9\""), std::string::npos);
  EXPECT_NE(unknown.error().message.find("scalar"), std::string::npos);
  setenv("INDEXSHARE_ISA", "", 1);
  EXPECT_EQ(*choose_kernels(), available_kernels().back());
  setenv("INDEXSHARE_ISA", restore.c_str(), 1);
}

class KernelsTest : public EachTable {};
INDEXSHARE_FOR_EACH_TABLE(KernelsTest);

TEST_P(KernelsTest, RmsNorm) {
  Random random(1);
  for (const int64_t n : kLengths) {
    for (const float magnitude : {1.0f, 1e-6f, 1e6f}) {
      SCOPED_TRACE(n);
      std::vector<float> x = random.normals(n);
      const std::vector<float> weight = random.normals(n);
      for (float& v : x) v *= magnitude;
      constexpr float kEps = 1e-6f;
      Unaligned in(x), w(weight), out(n);
      table().rms_norm(in.data(), w.data(), kEps, n, out.data());

      double squares = 0;
      for (const float v : x) squares += as_double(v) * as_double(v);
      const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + as_double(kEps));
      // the sum's relative error is halved by the root; then come the root, the quotient and two products
      const double relative = gamma_of(n + 2) / 2 + gamma_of(5);
      for (size_t i = 0; i < x.size(); ++i) {
        const double exact = as_double(x[i]) * factor * as_double(weight[i]);
        ASSERT_NEAR(out.values()[i], exact, relative * std::abs(exact) + kSubnormal);
      }
      EXPECT_TRUE(out.intact());
      table().rms_norm(in.data(), w.data(), kEps, n, in.data());
      EXPECT_TRUE(same_bits(in.values(), out.values())) << "in place";
    }
  }
}

TEST_P(KernelsTest, LayerNorm) {
  Random random(2);
  for (const int64_t n : kLengths) {
    for (const float offset : {0.0f, 3.0f, 1000.0f}) {
      SCOPED_TRACE(n);
      std::vector<float> x = random.normals(n);
      for (float& v : x) v += offset;
      const std::vector<float> weight = random.normals(n), bias = random.normals(n);
      constexpr float kEps = 1e-6f;
      Unaligned in(x), w(weight), b(bias), out(n);
      table().layer_norm(in.data(), w.data(), b.data(), kEps, n, out.data());

      double sum = 0, magnitude = 0, squares = 0;
      for (const float v : x) sum += as_double(v), magnitude += std::abs(as_double(v));
      const auto count = static_cast<double>(n);
      const double mean = sum / count;
      const double mean_error = gamma_of(n) * magnitude / count;
      for (const float v : x) squares += (as_double(v) - mean) * (as_double(v) - mean);
      const double variance = squares / count + as_double(kEps);
      // Around a mean that is off by e the mean square is larger by e^2, and each square has the rounding of
      // its difference twice.
      const double relative = (gamma_of(n + 5) + mean_error * mean_error / variance) / 2 + gamma_of(4);
      for (size_t i = 0; i < x.size(); ++i) {
        const double scale = std::abs(as_double(weight[i])) / std::sqrt(variance);
        const double deviation = as_double(x[i]) - mean;
        const double exact = deviation / std::sqrt(variance) * as_double(weight[i]) + as_double(bias[i]);
        const double error = scale * (std::abs(deviation) * relative + mean_error * (1 + relative));
        ASSERT_NEAR(out.values()[i], exact, error + kUnit * (std::abs(exact) + error)) << i;
      }
      EXPECT_TRUE(out.intact());
      table().layer_norm(in.data(), w.data(), b.data(), kEps, n, in.data());
      EXPECT_TRUE(same_bits(in.values(), out.values())) << "in place";
    }
  }
}

TEST_P(KernelsTest, NormsOfNaNAreNaN) {
  for (const int64_t n : kLengths) {
    std::vector<float> x(static_cast<size_t>(n), 1.0f), y(x), ones(x);
    x.back() = kNan;
    table().rms_norm(x.data(), ones.data(), 1e-6f, n, y.data());
    EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](float v) { return std::isnan(v); }));
    table().layer_norm(x.data(), ones.data(), ones.data(), 1e-6f, n, y.data());
    EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](float v) { return std::isnan(v); }));
  }
}

TEST_P(KernelsTest, AddScaledAndScale) {
  Random random(3);
  for (const int64_t n : kLengths) {
    SCOPED_TRACE(n);
    const std::vector<float> x = random.normals(n), start = random.normals(n);
    const float factor = random.normal();
    Unaligned in(x), sum(start), product(n), whole(start);
    table().add_scaled(in.data(), factor, n, sum.data());
    table().scale(in.data(), factor, n, product.data());
    table().add_scaled(in.data(), 1.0f, n, whole.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const Bounded exact = bounded_dot(std::vector<float>{start[i], factor}, std::vector<float>{1.0f, x[i]});
      ASSERT_NEAR(sum.values()[i], exact.value, exact.error);
      ASSERT_EQ(product.values()[i], x[i] * factor);
      ASSERT_EQ(whole.values()[i], start[i] + x[i]);
    }
    EXPECT_TRUE(sum.intact() && product.intact() && whole.intact());
  }
}

TEST_P(KernelsTest, Swiglu) {
  // Where e^-g overflows, the formula gives zero; the exact value is this large at most.
  const double lost = 88.8 * std::exp(-88.7);
  Random random(4);
  for (const int64_t n : kLengths) {
    for (const float magnitude : {1.0f, 20.0f, 100.0f, 1e30f}) {
      SCOPED_TRACE(n);
      std::vector<float> gate = random.normals(n);
      const std::vector<float> up = random.normals(n);
      for (float& g : gate) g *= magnitude;
      Unaligned g(gate), u(up), out(n);
      table().swiglu(g.data(), u.data(), n, out.data());
      for (size_t i = 0; i < gate.size(); ++i) {
        const double x = as_double(gate[i]);
        const double exact = x / (1 + std::exp(-x)) * as_double(up[i]);
        // exp, then a sum, a quotient and a product
        const double error = (kExpError + gamma_of(3)) * (1 + kExpError) * std::abs(exact) +
                             lost * std::abs(as_double(up[i])) + kSubnormal;
        ASSERT_NEAR(out.values()[i], exact, error) << gate[i];
      }
      EXPECT_TRUE(out.intact());
    }
  }
}

TEST_P(KernelsTest, SwigluOfSpecialValues) {
  const std::vector<float> specials = {0.0f,  -0.0f,  kInf,    -kInf,  kNan,    1e38f, -1e38f,
                                       89.0f, -89.0f, -104.0f, 1e-40f, -1e-40f, 1.0f};
  std::vector<float> gate, up;
  for (const float g : specials) {
    for (const float u : specials) gate.push_back(g), up.push_back(u);
  }
  std::vector<float> out(gate.size()), expected(gate.size());
  table().swiglu(gate.data(), up.data(), std::ssize(gate), out.data());
  scalar().swiglu(gate.data(), up.data(), std::ssize(gate), expected.data());
  for (size_t i = 0; i < gate.size(); ++i) {
    SCOPED_TRACE(std::to_string(gate[i]) + " * " + std::to_string(up[i]));
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(out[i]));
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(out[i], expected[i]);
    } else {
      const double each = kExpError + gamma_of(3);
      EXPECT_NEAR(out[i], expected[i], 2 * each * std::abs(as_double(expected[i])) + 2 * kSubnormal);
    }
  }
}

/// exp(scale * (x - max)) with its error: two roundings of the argument, then that of exp.
Bounded bounded_exp(float x, float max, float scale) {
  const double argument = as_double(scale) * (as_double(x) - as_double(max));
  const double value = std::exp(argument);
  return {value, value * (std::expm1(gamma_of(2) * std::abs(argument)) + kExpError) * (1 + kExpError) +
                     2 * kSubnormal};
}

TEST_P(KernelsTest, Softmax) {
  Random random(5);
  for (const int64_t n : kLengths) {
    for (const float magnitude : {0.0f, 1.0f, 30.0f, 100.0f, 1e4f}) {
      for (const float scale : {1.0f, 0.0625f, 0.07216878f}) {
        SCOPED_TRACE("n " + std::to_string(n) + ", magnitude " + std::to_string(magnitude));
        std::vector<float> x = random.normals(n);
        for (float& v : x) v *= magnitude;
        Unaligned out(x);
        const float sum = table().softmax(out.data(), n, scale);
        const float max = *std::max_element(x.begin(), x.end());
        double total = 0, error = 0;
        for (size_t i = 0; i < x.size(); ++i) {
          const Bounded exact = bounded_exp(x[i], max, scale);
          ASSERT_NEAR(out.values()[i], exact.value, exact.error) << x[i] << " below " << max;
          total += exact.value;
          error += exact.error;
        }
        EXPECT_NEAR(sum, total, error + gamma_of(n) * (total + error));
        EXPECT_TRUE(out.intact());
      }
    }
  }
}

TEST_P(KernelsTest, SoftmaxOfOneIsOne) {
  for (float x : {0.0f, -1e30f, 1e30f, -0.0f}) {
    EXPECT_EQ(table().softmax(&x, 1, 0.5f), 1.0f);
    EXPECT_EQ(x, 1.0f);
  }
}

TEST_P(KernelsTest, SoftmaxGivesMinusInfinityNoWeight) {
  for (const int64_t n : kLengths) {
    std::vector<float> x(static_cast<size_t>(n), -kInf);
    x.back() = 3.0f;
    x.front() = 3.0f;
    EXPECT_EQ(table().softmax(x.data(), n, 1.0f), n == 1 ? 1.0f : 2.0f);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], i == 0 || i + 1 == x.size() ? 1.0f : 0.0f);
  }
}

TEST_P(KernelsTest, SoftmaxShowsNaN) {
  for (const int64_t n : kLengths) {
    for (int64_t at = 0; at < n; at += 5) {
      std::vector<float> x(static_cast<size_t>(n), 1.0f);
      x[static_cast<size_t>(at)] = kNan;
      EXPECT_TRUE(std::isnan(table().softmax(x.data(), n, 1.0f))) << "n " << n << ", at " << at;
      EXPECT_TRUE(std::isnan(x[static_cast<size_t>(at)]));
    }
  }
}

/// Every upper half of an f32 with lower halves around the ties.
std::vector<float> rounding_cases() {
  std::vector<float> cases;
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const uint32_t lower : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      cases.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  return cases;
}

TEST_P(KernelsTest, RoundsAndEncodesToBf16AsTheConversionDoes) {
  const std::vector<float> x = rounding_cases();
  std::vector<float> rounded(x.size()), expected(x.size());
  std::vector<bf16> encoded(x.size());
  table().round_bf16(x.data(), std::ssize(x), rounded.data());
  table().encode_bf16(x.data(), std::ssize(x), encoded.data());
  for (size_t i = 0; i < x.size(); ++i) {
    expected[i] = round_to_bf16(x[i]);
    ASSERT_EQ(encoded[i].bits, to_bf16(x[i]).bits) << std::hex << std::bit_cast<uint32_t>(x[i]);
    ASSERT_EQ(std::bit_cast<uint32_t>(rounded[i]), std::bit_cast<uint32_t>(expected[i]))
        << std::hex << std::bit_cast<uint32_t>(x[i]);
  }
  rounded = x;
  table().round_bf16(rounded.data(), std::ssize(x), rounded.data());
  EXPECT_TRUE(same_bits(rounded, expected)) << "in place";
}

TEST_P(KernelsTest, DecodesEveryBf16) {
  std::vector<bf16> x(0x10000);
  for (size_t i = 0; i < x.size(); ++i) x[i].bits = static_cast<uint16_t>(i);
  std::vector<float> decoded(x.size());
  table().decode_bf16(x.data(), std::ssize(x), decoded.data());
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(std::bit_cast<uint32_t>(decoded[i]), i << 16);
}

TEST_P(KernelsTest, Bf16KernelsKeepToTheirLength) {
  Random random(6);
  for (int64_t n = 0; n <= 40; ++n) {
    const std::vector<float> x = random.normals(n);
    Unaligned in(x), rounded(n), decoded(n);
    std::vector<bf16> encoded(static_cast<size_t>(n + 2), bf16{0x1234});
    table().round_bf16(in.data(), n, rounded.data());
    table().encode_bf16(in.data(), n, encoded.data() + 1);
    table().decode_bf16(encoded.data() + 1, n, decoded.data());
    EXPECT_TRUE(rounded.intact() && decoded.intact());
    EXPECT_EQ(encoded.front().bits, 0x1234);
    EXPECT_EQ(encoded.back().bits, 0x1234);
    EXPECT_TRUE(same_bits(rounded.values(), decoded.values()));
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(rounded.values()[i], round_to_bf16(x[i]));
  }
}

}  // namespace
}  // namespace indexshare::cpu
