// Loading models for tests, and running token ids through them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/session.h"

namespace indexshare::testing {

inline std::filesystem::path golden_path(const std::string& name) {
  return std::filesystem::path(INDEXSHARE_SOURCE_DIR) / "tests/golden/data" / name;
}

inline std::filesystem::path pocket_path() {
  return std::filesystem::path(INDEXSHARE_SOURCE_DIR) / "models/pocket";
}

inline std::unique_ptr<ModelRunner> load_runner(const std::filesystem::path& path,
                                                const EngineOptions& options) {
  auto runner = ModelRunner::load(path, options);
  if (!runner.ok()) {
    ADD_FAILURE() << runner.error().message;
    return nullptr;
  }
  return std::move(runner).value();
}

/// Everything a forward pass shows, for one sequence from its first token on.
struct Trace : Probe {
  std::vector<std::vector<float>> logits;                       // [S][vocab]
  std::vector<std::vector<std::vector<float>>> hidden_rows;     // [stage][S][hidden]
  std::vector<std::vector<std::vector<int32_t>>> selections;    // [full layer][S]
  std::vector<std::vector<std::vector<int32_t>>> router_ids;    // [sparse layer][S]
  std::vector<std::vector<std::vector<float>>> router_weights;  // [sparse layer][S]

  explicit Trace(const Config& config) : hidden_rows(static_cast<size_t>(config.num_hidden_layers) + 2) {
    full_slot_.resize(static_cast<size_t>(config.num_hidden_layers));
    moe_slot_ = full_slot_;
    for (size_t layer = 0; layer < full_slot_.size(); ++layer) {
      full_slot_[layer] = selections.size();
      moe_slot_[layer] = router_ids.size();
      if (config.indexer_full[layer]) selections.emplace_back();
      if (config.mlp_sparse[layer]) router_ids.emplace_back();
    }
    router_weights.resize(router_ids.size());
  }

  void hidden(int64_t stage, Tensor x) override {
    rows_ = x.rows;
    for (int64_t t = 0; t < x.rows; ++t) {
      hidden_rows[static_cast<size_t>(stage)].emplace_back(x.row(t), x.row(t) + x.cols);
    }
  }
  void selection(int64_t layer, const Selection& selection) override {
    for (int64_t t = 0; t < rows_; ++t) {
      const auto row = selection[t];
      selections[full_slot_[static_cast<size_t>(layer)]].emplace_back(row.begin(), row.end());
    }
  }
  void routing(int64_t layer, const Routing& routing) override {
    const int64_t k = routing.experts_per_token;
    const size_t slot = moe_slot_[static_cast<size_t>(layer)];
    for (int64_t t = 0; t < rows_; ++t) {
      router_ids[slot].emplace_back(routing.ids.data() + t * k, routing.ids.data() + (t + 1) * k);
      router_weights[slot].emplace_back(routing.weights.data() + t * k, routing.weights.data() + (t + 1) * k);
    }
  }

 private:
  int64_t rows_ = 0;
  std::vector<size_t> full_slot_, moe_slot_;  // by layer
};

/// Appends `tokens` in pieces of `chunk` tokens and records everything.
inline void run(Session& session, std::span<const int32_t> tokens, int64_t chunk, Trace& trace) {
  for (int64_t first = 0; first < std::ssize(tokens); first += chunk) {
    const auto part = tokens.subspan(static_cast<size_t>(first),
                                     static_cast<size_t>(std::min(chunk, std::ssize(tokens) - first)));
    const auto ran = session.append(
        part, LogitsFor::all,
        [&](int64_t, Tensor rows) {
          for (int64_t t = 0; t < rows.rows; ++t)
            trace.logits.emplace_back(rows.row(t), rows.row(t) + rows.cols);
        },
        [](int64_t, int64_t) { return true; }, &trace);
    ASSERT_TRUE(ran.ok()) << ran.error().message;
  }
}

inline double max_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= worst)) worst = difference;  // a NaN is the worst
  }
  return worst;
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

inline int32_t argmax(std::span<const float> row) {
  return static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace indexshare::testing
