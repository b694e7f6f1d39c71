// The operations over single rows.
#include "cpu/backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cpu/every_backend.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kRowCounts[] = {1, 3, 4, 9};  // below and above the number of rows that is worth threads

TEST(Embed, DecodesTheRowsOfTheTokens) {
  Random random(1);
  const std::vector<int32_t> tokens = {0, 10, 3, 3, 9, 7};
  for (const Storage& storage : all_storages()) {
    const StoredMatrix table = random_matrix(storage, 11, 37, random);
    std::vector<float> expected;
    for (const int32_t token : tokens)
      expected.insert(expected.end(), table.row(token).begin(), table.row(token).end());
    const auto results = run_everywhere(FloatType::f32, [&](CpuBackend& backend) {
      Rows x(std::ssize(tokens), 37);
      backend.embed(table.view, tokens, x.view());
      return x.values;
    });
    for (const auto& result : results) EXPECT_TRUE(same_bits(result, expected)) << storage.name();
  }
}

TEST(Norms, NormEveryRowAsTheKernelDoes) {
  Random random(2);
  const std::vector<float> weight = random.normals(37), bias = random.normals(37);
  for (const int64_t rows : kRowCounts) {
    const Rows x = random_rows(rows, 37, random, 4);
    for (const auto& backend : every_backend(FloatType::f32)) {
      const Kernels* table = nullptr;
      for (const Kernels* candidate : available_kernels()) {
        if (candidate->name == backend->isa()) table = candidate;
      }
      Rows in = x, rms(rows, 37, 2), layer(rows, 37, 2);
      backend->rms_norm(in.view(), weight, 1e-5f, rms.view());
      backend->layer_norm(in.view(), weight, bias, 1e-5f, layer.view());
      std::vector<float> expected(37);
      for (int64_t t = 0; t < rows; ++t) {
        table->rms_norm(x.row(t).data(), weight.data(), 1e-5f, 37, expected.data());
        EXPECT_TRUE(same_bits(rms.row(t), expected));
        table->layer_norm(x.row(t).data(), weight.data(), bias.data(), 1e-5f, 37, expected.data());
        EXPECT_TRUE(same_bits(layer.row(t), expected));
      }
      EXPECT_TRUE(rms.gaps_untouched() && layer.gaps_untouched());
    }
  }
}

TEST(Add, AddsRowByRow) {
  Random random(3);
  for (const int64_t rows : kRowCounts) {
    Rows x = random_rows(rows, 37, random, 1);
    const Rows start = random_rows(rows, 37, random, 6);
    const auto results = run_everywhere(FloatType::f32, [&](CpuBackend& backend) {
      Rows y = start;
      backend.add(x.view(), y.view());
      return y.values;
    });
    Rows expected = start;
    for (int64_t t = 0; t < rows; ++t) {
      for (size_t i = 0; i < 37; ++i) expected.row(t)[i] += x.row(t)[i];
    }
    for (const auto& result : results) EXPECT_TRUE(same_bits(result, expected.values));
  }
}

/// cos and sin of a position's angles; the angle is rounded to f32 before.
struct Angles {
  Rows cos, sin;
  Rotation view() { return {cos.view(), sin.view()}; }
};

TEST(Rotation, IsTheCosineAndSineOfTheAngleInF32) {
  const std::vector<int32_t> positions = {0, 1, 2, 63, 4095, 202'751, 1'048'575};
  const std::vector<float> frequencies = {1.0f, 0.7f, 0.031f, 1e-6f};
  Angles angles = {Rows(std::ssize(positions), 4), Rows(std::ssize(positions), 4)};
  every_backend(FloatType::f32).back()->rotation(positions, frequencies, angles.view());
  for (size_t t = 0; t < positions.size(); ++t) {
    for (size_t i = 0; i < frequencies.size(); ++i) {
      const auto angle = as_double(static_cast<float>(positions[t]) * frequencies[i]);
      const auto row = static_cast<int64_t>(t);
      EXPECT_NEAR(angles.cos.row(row)[i], std::cos(angle),
                  2 * kUnit);  // libm is within one unit in the last place
      EXPECT_NEAR(angles.sin.row(row)[i], std::sin(angle), 2 * kUnit);
    }
  }
}

class RopeTest : public testing::TestWithParam<RopePairs> {};
INSTANTIATE_TEST_SUITE_P(Pairs, RopeTest, testing::Values(RopePairs::interleaved, RopePairs::halves),
                         [](const auto& instance) {
                           return std::string(instance.param == RopePairs::halves ? "halves" : "interleaved");
                         });

TEST_P(RopeTest, TurnsTheFirstValuesOfEveryHead) {
  constexpr int64_t kHalf = 3, kHeads = 5, kWidth = 11;
  Random random(4);
  for (const int64_t rows : kRowCounts) {
    const Rows x = random_rows(rows, kHeads * kWidth, random, 2);
    Angles angles = {Rows(rows, kHalf), Rows(rows, kHalf)};
    for (int64_t t = 0; t < rows; ++t) {
      for (size_t i = 0; i < kHalf; ++i) {
        const double angle = as_double(random.normal()) * 3;
        angles.cos.row(t)[i] = static_cast<float>(std::cos(angle));
        angles.sin.row(t)[i] = static_cast<float>(std::sin(angle));
      }
    }
    const auto results = run_everywhere(FloatType::f32, [&](CpuBackend& backend) {
      Rows turned = x;
      backend.rope(angles.view(), GetParam(), kHeads, kWidth, turned.view());
      return turned.values;
    });

    std::vector<Bounded> expected;
    for (const float v : x.values) expected.push_back({as_double(v), 0});  // what is not turned stays
    for (int64_t t = 0; t < rows; ++t) {
      for (int64_t head = 0; head < kHeads; ++head) {
        for (int64_t i = 0; i < kHalf; ++i) {
          const bool interleaved = GetParam() == RopePairs::interleaved;
          const int64_t a = interleaved ? 2 * i : i;
          const int64_t b = interleaved ? 2 * i + 1 : i + kHalf;
          const auto at = static_cast<size_t>(t * x.stride + head * kWidth);
          const float xa = x.values[at + static_cast<size_t>(a)], xb = x.values[at + static_cast<size_t>(b)];
          const float cos = angles.cos.row(t)[static_cast<size_t>(i)],
                      sin = angles.sin.row(t)[static_cast<size_t>(i)];
          expected[at + static_cast<size_t>(a)] =
              bounded_dot(std::vector<float>{xa, xb}, std::vector<float>{cos, -sin});
          expected[at + static_cast<size_t>(b)] =
              bounded_dot(std::vector<float>{xb, xa}, std::vector<float>{cos, sin});
        }
      }
    }
    for (const auto& result : results) expect_within(result, expected);
  }
}

// Queries and keys turned by their positions give a product that depends on the distance alone.
TEST_P(RopeTest, ProductsDependOnTheDistance) {
  constexpr int64_t kHalf = 4;
  Random random(5);
  const Rows q = random_rows(1, 2 * kHalf, random), k = random_rows(1, 2 * kHalf, random);
  const std::vector<float> frequencies = {1.0f, 0.3f, 0.1f, 0.02f};
  CpuBackend& backend = *every_backend(FloatType::f32).front();
  auto product = [&](int32_t query_position, int32_t key_position) {
    auto turned = [&](const Rows& x, int32_t position) {
      Angles angles = {Rows(1, kHalf), Rows(1, kHalf)};
      Rows y = x;
      backend.rotation(std::vector<int32_t>{position}, frequencies, angles.view());
      backend.rope(angles.view(), GetParam(), 1, 2 * kHalf, y.view());
      return y;
    };
    return bounded_dot(turned(q, query_position).row(0), turned(k, key_position).row(0)).value;
  };
  // Angles up to 100 in f32 are off by 100 units at most, and so is each of the turned values.
  const double tolerance = 4 * 110 * kUnit * 2 * kHalf * 10;
  EXPECT_NEAR(product(7, 3), product(14, 10), tolerance);
  EXPECT_NEAR(product(7, 3), product(100, 96), tolerance);
  EXPECT_GT(std::abs(product(7, 3) - product(8, 3)), 100 * tolerance);
}

}  // namespace
}  // namespace indexshare::cpu
