// A model made for it finds a value by its key anywhere in a long context (needle/model.h), and only with the
// selection that IndexShare hands from a full layer to the shared layer behind it.
#include <numeric>

#include "golden/support.h"
#include "needle/haystack.h"
#include "needle/model.h"
#include "property/forwarding_backend.h"
#include "temporary_directory.h"

namespace indexshare::needle {
namespace {

using testing::argmax;

constexpr int kDepths[] = {0, 25, 50, 75, 100};

class Needle : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<void> written = write_model(directory_.path());
    ASSERT_TRUE(written.ok()) << written.error().message;
  }

  std::unique_ptr<ModelRunner> load(FloatType compute = FloatType::bf16) const {
    EngineOptions options;
    options.threads = 2;
    options.compute = compute;
    return testing::load_runner(directory_.path(), options);
  }

  // A runner of the same weights in another configuration.
  static std::unique_ptr<ModelRunner> changed(const ModelRunner& runner, Config config) {
    Weights weights = runner.model().weights();
    for (size_t layer = 0; layer < weights.layers.size(); ++layer) {
      if (!config.indexer_full[layer]) weights.layers[layer].self_attn.indexer.reset();
    }
    EngineOptions options = runner.options();
    options.cache_bytes = options.context = 0;  // as much as fits now, beside the tests that run meanwhile
    auto result = ModelRunner::create(std::move(config), std::move(weights), options);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? std::move(result).value() : nullptr;
  }

  // How many of the needles at kDepths come back, all from one reading of the haystack.
  static int found(std::unique_ptr<ModelRunner> runner, const std::vector<int32_t>& tokens) {
    Engine engine(std::move(runner));
    int count = 0;
    for (const int percent : kDepths) {
      const Record needle = record(record_at_depth(std::ssize(tokens), percent));
      const auto result = ask(engine, tokens, needle);
      EXPECT_TRUE(result.ok()) << result.error().message;
      if (result.ok() && is_answer(result->ids, needle)) ++count;
    }
    return count;
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(Needle, ComesBackFromAnyDepth) {
  auto runner = load();
  ASSERT_NE(runner, nullptr);
  EXPECT_EQ(runner->config().schedule(), "FSFS");
  EXPECT_EQ(runner->config().max_position_embeddings, 1 << 20);
  EXPECT_EQ(found(std::move(runner), haystack(INDEXSHARE_LONG_HAYSTACK)), 5);
}

TEST_F(Needle, ComesBackFromShortContextsInEitherPrecision) {
  for (const FloatType compute : {FloatType::f32, FloatType::bf16}) {
    for (const int64_t tokens : {7, 63, 64, 65, 140, 1000}) {  // up to index_topk all tokens are selected
      auto runner = load(compute);
      ASSERT_NE(runner, nullptr);
      EXPECT_EQ(found(std::move(runner), haystack(tokens)), 5) << tokens << " tokens";
    }
  }
}

TEST_F(Needle, IsWhatTheContextSays) {
  auto runner = load();
  ASSERT_NE(runner, nullptr);
  std::vector<int32_t> tokens = haystack(1000);
  Record needle = record(record_at_depth(1000, 50));
  const auto key = std::search(tokens.begin(), tokens.end(), needle.key.begin(), needle.key.end());
  ASSERT_NE(key, tokens.end());
  needle.value = {token_id(2, 1), token_id(3, 2), token_id(4, 3), token_id(5, 4)};
  std::copy(needle.value.begin(), needle.value.end(), key + kKeyTokens);
  Engine engine(std::move(runner));
  const auto result = ask(engine, tokens, needle);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(is_answer(result->ids, needle));
}

TEST_F(Needle, IsLostWhenItsLayerSharesAnEarlierIndex) {
  const auto runner = load();
  ASSERT_NE(runner, nullptr);
  Config config = runner->config();
  config.indexer_full[2] = false;
  auto one_index = changed(*runner, config);
  ASSERT_NE(one_index, nullptr);
  EXPECT_EQ(found(std::move(one_index), haystack(4096)), 0);
}

// The nearest three tokens to the beginning of a record are one before it and the key.
TEST_F(Needle, ComesBackWithAsFewSelectedTokensAsItNeeds) {
  const auto runner = load();
  ASSERT_NE(runner, nullptr);
  Config config = runner->config();
  config.index_topk = 3;
  auto narrow = changed(*runner, config);
  ASSERT_NE(narrow, nullptr);
  EXPECT_EQ(found(std::move(narrow), haystack(4096)), 5);
}

/// What layer 3 attends to instead of the selection of layer 2.
enum class Attends { as_selected, to_all, to_the_earlier_selection, to_the_records_before };

class TamperingBackend : public testing::ForwardingBackend {
 public:
  TamperingBackend(Backend& to, Attends attends) : ForwardingBackend(to), attends_(attends) {}

  void sparse_attention(int64_t layer, const Batch& batch, const HeadShape& shape, Tensor latent_q,
                        const Selection& selection, float scale, Tensor latent_out) override {
    if (layer == 1) assign(earlier_, batch, [&](int64_t t) { return selection[t]; });
    if (layer == 3) {
      assign(changed_, batch, [&](int64_t t) { return other_rows(t, batch, selection); });
    }
    ForwardingBackend::sparse_attention(layer, batch, shape, latent_q, layer == 3 ? changed_ : selection,
                                        scale, latent_out);
  }

 private:
  std::span<const int32_t> other_rows(int64_t t, const Batch& batch, const Selection& selection) {
    switch (attends_) {
      case Attends::as_selected: return selection[t];
      case Attends::to_the_earlier_selection: return earlier_[t];
      case Attends::to_all:
        rows_.resize(static_cast<size_t>(batch.position(t) + 1));
        std::iota(rows_.begin(), rows_.end(), 0);
        return rows_;
      case Attends::to_the_records_before:
        rows_.assign(selection[t].begin(), selection[t].end());
        for (int32_t& row : rows_) row = std::max(row - static_cast<int32_t>(kRecordTokens), 0);
        return rows_;
    }
    return {};
  }

  static void assign(Selection& to, const Batch& batch, FunctionRef<std::span<const int32_t>(int64_t)> rows) {
    const int64_t width = batch.position(batch.rows() - 1) + 1;
    to.resize(batch.rows(), width);
    for (int64_t t = 0; t < batch.rows(); ++t) {
      const auto row = rows(t);
      std::copy(row.begin(), row.end(), to.row(t));
      to.set_count(t, std::ssize(row));
    }
  }

  Attends attends_;
  std::vector<int32_t> rows_;
  Selection earlier_, changed_;
};

// The model's answer to a question, token by token, behind what the cache holds; the cache is left as it was.
std::vector<int32_t> answer(const Model& model, SequenceCache& cache, const Record& needle) {
  const int64_t before = cache.length();
  BatchBuilder builder;
  Workspace workspace;
  std::vector<float> row(static_cast<size_t>(model.config().vocab_size));
  std::vector<int32_t> ids;
  std::span<const int32_t> next = needle.key;
  while (std::ssize(ids) < kValueTokens + 1) {
    EXPECT_TRUE(cache.extend(std::ssize(next)).ok());
    builder.clear();
    builder.add(cache, next, LogitsFor::last);
    model.forward(builder.batch(), workspace, Tensor(row.data(), 1, std::ssize(row)));
    ids.push_back(argmax(row));
    next = std::span(ids).last(1);
  }
  cache.truncate(before);
  return ids;
}

// The haystack is read as it should be; then the same cache is asked by models whose last layer attends to
// something else.
TEST_F(Needle, IsLostUnlessTheSharedLayerAttendsToWhatWasSelected) {
  const auto runner = load();
  ASSERT_NE(runner, nullptr);
  const std::vector<int32_t> tokens = haystack(16384);
  SequenceCache cache(runner->pool());
  for (int64_t done = 0; done < std::ssize(tokens); done += 512) {
    ASSERT_TRUE(cache.extend(512).ok());
    runner->builder().clear();
    runner->builder().add(cache, std::span(tokens).subspan(static_cast<size_t>(done), 512), LogitsFor::none);
    runner->forward(runner->builder().batch());
  }
  for (const Attends attends : {Attends::as_selected, Attends::to_all, Attends::to_the_earlier_selection,
                                Attends::to_the_records_before}) {
    TamperingBackend backend(runner->model().backend(), attends);
    const Model model(runner->config(), runner->model().weights(), backend);
    for (const int percent : kDepths) {
      SCOPED_TRACE(::testing::Message()
                   << "variant " << static_cast<int>(attends) << " at " << percent << " %");
      const Record needle = record(record_at_depth(std::ssize(tokens), percent));
      const std::vector<int32_t> ids = answer(model, cache, needle);
      EXPECT_EQ(is_answer(ids, needle), attends == Attends::as_selected);
      if (attends != Attends::as_selected) {  // not even one of its tokens, but for luck
        EXPECT_NE(ids.front(), needle.value.front());
      }
    }
  }
}

}  // namespace
}  // namespace indexshare::needle
