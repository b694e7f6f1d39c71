// The tensors of a model directory, from one file or from the shards that its index names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "indexshare/result.h"

namespace indexshare {

/// Immutable; whoever points into its bytes keeps it alive.
class Checkpoint {
 public:
  /// Maps model.safetensors of a directory, else the shards of model.safetensors.index.json.
  static Result<std::shared_ptr<const Checkpoint>> open(const std::filesystem::path& directory);

  const StoredTensor* find(std::string_view name) const;
  const std::map<std::string_view, const StoredTensor*>& tensors() const { return tensors_; }

  const std::filesystem::path& directory() const { return directory_; }
  int64_t shards() const { return std::ssize(files_); }
  int64_t total_bytes() const;
  std::map<std::string_view, int64_t> bytes_by_dtype() const;  // dtypes as files spell them

  Checkpoint() = default;  // no tensors; made by open()
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

 private:
  std::filesystem::path directory_;
  std::vector<SafetensorsFile> files_;  // owns what tensors_ points to
  std::map<std::string_view, const StoredTensor*> tensors_;
};

/// An index's weight_map: the names of the tensors, by shard.
using ShardMap = std::map<std::string, std::vector<std::string>>;

/// Reads a parsed model.safetensors.index.json; `source` names it in errors. Shard names must be plain
/// file names, so that an index cannot reach out of its directory.
Result<ShardMap> parse_shard_index(const SortedJson& json, std::string_view source);

}  // namespace indexshare
