// Taking tensors of a checkpoint by name and shape, with every mismatch collected for one error.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "formats/matrix.h"
#include "indexshare/result.h"

namespace indexshare {

/// Where the bytes of bound matrices live: in the checkpoint, and here what had to be copied from it.
struct WeightStorage {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::deque<std::vector<std::byte>> copies;
};

/// Tensors with the same problem: the first few by name, the others counted.
struct TensorProblems {
  int64_t count = 0;
  std::vector<std::string> first;

  void add(std::string text);
};

/// A tensor that is missing or does not fit is noted and comes back empty; check() tells of all at once.
class TensorBinder {
 public:
  TensorBinder(std::shared_ptr<const Checkpoint> checkpoint, int64_t block_rows, int64_t block_cols);

  Matrix matrix(const std::string& name, int64_t rows, int64_t cols);
  std::vector<float> vector(const std::string& name, int64_t size);

  /// The `count` matrices [rows, cols] of a tensor [count, rows, cols].
  std::vector<Matrix> matrices(const std::string& name, int64_t count, int64_t rows, int64_t cols);

  bool has(std::string_view name) const { return storage_->checkpoint->find(name) != nullptr; }
  bool has_prefix(std::string_view prefix) const;

  /// Not used, and no surprise: these need not be there.
  void ignore(std::string_view name);
  void ignore_prefix(std::string_view prefix);

  /// Fails if a tensor was missing, did not fit, or was neither taken nor ignored.
  Result<void> check() const;

  std::shared_ptr<const WeightStorage> storage() const { return storage_; }

 private:
  const StoredTensor* take(const std::string& name, const std::vector<int64_t>& shape);
  const std::byte* aligned(const StoredTensor& tensor, int64_t alignment);
  bool bind_scales(const std::string& name, Matrix& matrix);

  std::shared_ptr<WeightStorage> storage_;
  int64_t block_rows_, block_cols_;
  std::set<std::string_view> used_;  // taken or ignored; names of the checkpoint
  TensorProblems missing_;
  TensorProblems unfit_;
};

}  // namespace indexshare
