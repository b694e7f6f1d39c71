// A sequence that was saved and restored goes on as if it had never been away, bit for bit.
#include "cache/session_file.h"

#include <random>
#include <string>
#include <tuple>

#include "golden/support.h"
#include "temporary_directory.h"

namespace indexshare {
namespace {

class SessionFileProperty : public ::testing::TestWithParam<std::tuple<FloatType, IndexKeys>> {};
INSTANTIATE_TEST_SUITE_P(Forms, SessionFileProperty,
                         ::testing::Combine(::testing::Values(FloatType::f32, FloatType::bf16),
                                            ::testing::Values(IndexKeys::plain, IndexKeys::int8,
                                                              IndexKeys::screened)),
                         [](const auto& instance) {
                           return std::string(std::get<0>(instance.param) == FloatType::f32 ? "f32_"
                                                                                            : "bf16_") +
                                  std::string(index_keys_name(std::get<1>(instance.param)));
                         });

/// Appends `tokens` to a cache and returns the logits of each.
std::vector<std::vector<float>> forward(ModelRunner& runner, SequenceCache& cache,
                                        std::span<const int32_t> tokens) {
  EXPECT_TRUE(cache.extend(std::ssize(tokens)).ok());
  BatchBuilder builder;
  builder.add(cache, tokens, LogitsFor::all);
  const Tensor rows = runner.forward(builder.batch());
  std::vector<std::vector<float>> logits;
  for (int64_t t = 0; t < rows.rows; ++t) logits.emplace_back(rows.row(t), rows.row(t) + rows.cols);
  return logits;
}

// The lengths lie within a block of keys, at its end, at a page's end and beyond; another sequence stood in
// the pages before, and the saved one was longer once.
TEST_P(SessionFileProperty, GoesOnBitForBit) {
  const TemporaryDirectory directory;
  EngineOptions options;
  options.threads = 2;
  std::tie(options.compute, options.index_keys) = GetParam();
  const auto runner = testing::load_runner(testing::pocket_path(), options);
  const auto second = testing::load_runner(testing::pocket_path(), options);
  ASSERT_NE(runner, nullptr);
  ASSERT_NE(second, nullptr);
  const int64_t vocab = runner->config().vocab_size;
  std::mt19937 random(7);
  std::vector<int32_t> tokens(330);
  for (int32_t& id : tokens) id = static_cast<int32_t>(random() % static_cast<uint32_t>(vocab));
  const std::span<const int32_t> all(tokens);

  SequenceCache whole(runner->pool());
  const auto expected = forward(*runner, whole, all);
  for (const size_t length : {1, 37, 128, 250, 256, 261, 329}) {
    SCOPED_TRACE(length);
    SequenceCache first(runner->pool());
    forward(*runner, first, all.first(std::min(length + 20, all.size())));
    first.truncate(static_cast<int64_t>(length));
    ASSERT_TRUE(save_session(directory / "session", first, all.first(length), "pocket").ok());

    {
      SequenceCache other(second->pool());
      forward(*second, other, all.last(300));
    }
    const auto file = SessionFile::open(directory / "session", "pocket", vocab);
    ASSERT_TRUE(file.ok()) << file.error().message;
    auto restored = file->restore(second->pool());
    ASSERT_TRUE(restored.ok()) << restored.error().message;
    const auto logits = forward(*second, *restored, all.subspan(length));
    ASSERT_EQ(logits.size(), all.size() - length);
    for (size_t t = 0; t < logits.size(); ++t) {
      ASSERT_TRUE(testing::same_bits(logits[t], expected[length + t])) << "token " << length + t;
    }
  }
}

}  // namespace
}  // namespace indexshare
