// As property_test.cc, at a length where the index works over a thousand pages.
#include <algorithm>
#include <random>

#include "golden/support.h"
#include "model/random_weights.h"

namespace indexshare {
namespace {

constexpr int64_t kTokens = INDEXSHARE_LONG_PROMPT;
constexpr int64_t kWhole = kTokens;  // a chunk that holds the prompt

// One full and one shared layer, as small as the shapes allow: so that 70,000 passes of one token take
// seconds.
Config tiny_config() {
  Config c;
  c.vocab_size = 64;
  c.hidden_size = 32;
  c.intermediate_size = c.moe_intermediate_size = 16;
  c.num_hidden_layers = 2;
  c.num_attention_heads = 1;
  c.q_lora_rank = c.kv_lora_rank = 16;
  c.qk_nope_head_dim = c.v_head_dim = 8;
  c.qk_rope_head_dim = 4;
  c.index_n_heads = 2;
  c.index_head_dim = 8;
  c.index_topk = 16;
  c.indexer_full = {true, false};
  c.mlp_sparse = {false, true};
  c.n_routed_experts = 4;
  c.num_experts_per_tok = 2;
  c.max_position_embeddings = 1 << 20;
  return c;
}

std::vector<int32_t> prompt() {
  std::mt19937 generator(3);
  std::vector<int32_t> tokens;
  while (std::ssize(tokens) < kTokens) tokens.push_back(static_cast<int32_t>(generator() % 64));
  return tokens;
}

// FNV-1a over the bits of what a token gets: its selection and its last hidden state.
class Fingerprints : public Probe {
 public:
  std::vector<uint64_t> of_token;

  void hidden(int64_t stage, Tensor x) override {
    if (stage == 0) {
      first_ = of_token.size();
      of_token.resize(first_ + static_cast<size_t>(x.rows), 0xcbf29ce484222325u);
    }
    if (stage != 3) return;  // after the last norm
    for (int64_t t = 0; t < x.rows; ++t)
      mix(t, std::as_bytes(std::span(x.row(t), static_cast<size_t>(x.cols))));
  }
  void selection(int64_t, const Selection& selection) override {
    for (size_t t = first_; t < of_token.size(); ++t) {
      const auto row = static_cast<int64_t>(t - first_);
      mix(row, std::as_bytes(selection[row]));
    }
  }
  void routing(int64_t, const Routing&) override {}

 private:
  void mix(int64_t row, std::span<const std::byte> bytes) {
    uint64_t& hash = of_token[first_ + static_cast<size_t>(row)];
    for (const std::byte b : bytes) hash = (hash ^ static_cast<uint64_t>(b)) * 0x100000001b3u;
  }
  size_t first_ = 0;
};

class LongPrompt : public ::testing::TestWithParam<FloatType> {
 protected:
  static std::unique_ptr<ModelRunner> make_engine(int threads, int64_t chunk) {
    const DType dtype = GetParam() == FloatType::f32 ? DType::f32 : DType::bf16;
    auto weights = random_weights(tiny_config(), dtype, 7);
    EXPECT_TRUE(weights.ok());
    EngineOptions options;
    options.threads = threads;
    options.numa_nodes = std::min(threads, 2);  // as on a machine with two memory nodes
    options.chunk = chunk;
    options.compute = GetParam();
    auto runner = ModelRunner::create(tiny_config(), std::move(*weights), options);
    if (!runner.ok()) {
      ADD_FAILURE() << runner.error().message;
      return nullptr;
    }
    return std::move(runner).value();
  }

  static void append(Session& session, std::span<const int32_t> tokens, Fingerprints& seen) {
    const auto done = session.append(
        tokens, LogitsFor::none, [](int64_t, Tensor) {}, [](int64_t, int64_t) { return true; }, &seen);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }

  static std::vector<uint64_t> run(int threads, int64_t chunk) {
    const auto runner = make_engine(threads, chunk);
    Fingerprints seen;
    if (runner == nullptr) return {};
    Session session(*runner);
    append(session, prompt(), seen);
    return seen.of_token;
  }

  // In pieces of any size; in between, other tokens stand where the next ones will, and are taken back
  // together with some of the prompt.
  static std::vector<uint64_t> run_with_rewinds(int threads) {
    const auto runner = make_engine(threads, kWhole);
    Fingerprints seen;
    if (runner == nullptr) return {};
    const std::vector<int32_t> tokens = prompt();
    Session session(*runner);
    std::mt19937 generator(4);
    for (int64_t at = 0; at < kTokens; at = std::ssize(session.tokens())) {
      const auto piece = std::min<int64_t>(1 + generator() % 9000, kTokens - at);
      append(session, std::span(tokens).subspan(static_cast<size_t>(at), static_cast<size_t>(piece)), seen);
      if (at + piece == kTokens) break;
      append(session, std::vector<int32_t>(generator() % 200, 1), seen);
      const auto kept = std::max<int64_t>(0, at + piece - static_cast<int64_t>(generator() % 300));
      session.truncate(kept);
      seen.of_token.resize(static_cast<size_t>(kept));
    }
    return seen.of_token;
  }

  static void expect_same(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
    ASSERT_EQ(std::ssize(a), kTokens);
    ASSERT_EQ(std::ssize(b), kTokens);
    const auto [first, other] = std::mismatch(a.begin(), a.end(), b.begin());
    EXPECT_EQ(first, a.end()) << "token " << first - a.begin() << " is the first that differs";
  }
};
INSTANTIATE_TEST_SUITE_P(Compute, LongPrompt, ::testing::Values(FloatType::f32, FloatType::bf16),
                         [](const auto& instance) {
                           return instance.param == FloatType::f32 ? "f32" : "bf16";
                         });

TEST_P(LongPrompt, IsTheSameHoweverItArrives) {
  const auto whole = run(1, kWhole);
  for (const auto& [threads, chunk] : {std::pair{2, 512}, std::pair{3, 7}, std::pair{1, 1}}) {
    SCOPED_TRACE(::testing::Message() << threads << " threads, chunks of " << chunk);
    expect_same(whole, run(threads, chunk));
  }
  SCOPED_TRACE("in pieces with rewinds in between");
  expect_same(whole, run_with_rewinds(2));
}

}  // namespace
}  // namespace indexshare
