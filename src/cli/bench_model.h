// The model that a benchmark measures: a checkpoint, or random weights in a given geometry; in several
// variants that share their weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/model_runner.h"
#include "indexshare/result.h"

namespace indexshare::cli {

/// Random weights: a geometry with what flags change. 0 and empty: as the geometry has it.
struct BenchGeometry {
  std::string source;  // "glm-5.2", or the path of a config.json
  int64_t layers = 0, experts = 0, experts_per_token = 0, vocab = 0;
  std::vector<std::string> patterns;  // of full and shared layers, repeated: "FSSS"
  DType dtype = DType::bf16;
};

/// What one engine is made with.
struct BenchVariant {
  size_t schedule = 0;  // which of the patterns
  int threads = 0;      // 0: one per processor
};

class BenchModel {
 public:
  /// `longest` is what the longest sequence will have; random weights have no limit of their own.
  static Result<BenchModel> random(const BenchGeometry& geometry, int64_t longest,
                                   const EngineOptions& options, const std::vector<int>& threads);
  static Result<BenchModel> load(const std::string& directory, const EngineOptions& options,
                                 const std::vector<int>& threads);

  const std::vector<BenchVariant>& variants() const { return variants_; }

  /// A runner over the shared weights.
  Result<std::unique_ptr<ModelRunner>> runner(const BenchVariant& variant) const;

 private:
  BenchModel(EngineOptions options, Weights weights, std::vector<Config> configs,
             const std::vector<int>& threads);

  EngineOptions options_;
  Weights weights_;              // with an indexer wherever a pattern has a full layer
  std::vector<Config> configs_;  // one for each pattern
  std::vector<BenchVariant> variants_;
};

}  // namespace indexshare::cli
