// Sequences of any length without their prefill: the cache is filled through the backend's own operations
// with normal values, the spread that the norms before the cache give to real ones.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "cache/sequence.h"
#include "engine/model_runner.h"
#include "indexshare/result.h"

namespace indexshare::cli {

class CacheFiller {
 public:
  CacheFiller();

  /// Makes a sequence `length` tokens long, longer or shorter.
  Result<void> fill(ModelRunner& runner, SequenceCache& cache, int64_t length);

 private:
  // Rows from a random place of the drawn values.
  Tensor rows(int64_t count, int64_t cols);

  std::vector<float> values_;
  std::mt19937_64 generator_;
};

}  // namespace indexshare::cli
