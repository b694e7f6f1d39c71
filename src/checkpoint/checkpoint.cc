#include "checkpoint/checkpoint.h"

#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace indexshare {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr int64_t kMaxIndexBytes = 256 << 20;  // GLM-5.2's index of 60,000 tensors takes about 6 MB

/// Every tensor the index places in a shard is there, and the shard holds no others.
Result<void> check_shard(const SafetensorsFile& shard, const std::vector<std::string>& names,
                         const fs::path& path) {
  for (const std::string& name : names) {
    if (shard.find(name) == nullptr) {
      return make_error("{}: lacks the tensor {}, which {} places there", path.string(), name, kIndexFile);
    }
  }
  if (shard.tensors().size() == names.size()) return {};
  const std::set<std::string_view> indexed(names.begin(), names.end());
  for (const auto& [name, tensor] : shard.tensors()) {
    if (!indexed.contains(name)) {
      return make_error("{}: holds the tensor {}, which {} does not place there", path.string(), name,
                        kIndexFile);
    }
  }
  return {};
}

Result<std::vector<SafetensorsFile>> open_shards(const fs::path& directory) {
  const fs::path index = directory / kIndexFile;
  ASSIGN_OR_RETURN(const std::string text, read_file(index, kMaxIndexBytes));
  ASSIGN_OR_RETURN(const SortedJson json, parse_sorted_json(text, index.string()));
  ASSIGN_OR_RETURN(const ShardMap shards, parse_shard_index(json, index.string()));
  std::vector<SafetensorsFile> files;
  for (const auto& [shard, names] : shards) {
    const fs::path path = directory / shard;
    ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
    RETURN_IF_ERROR(check_shard(file, names, path));
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::vector<SafetensorsFile>> open_files(const fs::path& directory) {
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored)) {
    return make_error("{}: is not a directory; a model is a directory that holds config.json and {} or {}",
                      directory.string(), kSingleFile, kIndexFile);
  }
  if (fs::exists(fs::symlink_status(directory / kSingleFile, ignored))) {
    ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(directory / kSingleFile));
    std::vector<SafetensorsFile> files;
    files.push_back(std::move(file));
    return files;
  }
  if (fs::exists(fs::symlink_status(directory / kIndexFile, ignored))) return open_shards(directory);
  return make_error("{}: holds neither {} nor {}", directory.string(), kSingleFile, kIndexFile);
}

bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

}  // namespace

Result<ShardMap> parse_shard_index(const SortedJson& json, std::string_view source) {
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object() || map->empty()) {
    return make_error("{}: has no \"weight_map\" object that names a shard for each tensor", source);
  }
  ShardMap shards;
  for (const auto& [name, shard] : map->items()) {
    if (!shard.is_string() || !is_plain_file_name(shard.get_ref<const std::string&>())) {
      return make_error("{}: places the tensor {} in {}, expected the name of a file in the same directory",
                        source, name, shard.dump());
    }
    shards[shard.get_ref<const std::string&>()].push_back(name);
  }
  return shards;
}

Result<std::shared_ptr<const Checkpoint>> Checkpoint::open(const fs::path& directory) {
  const auto checkpoint = std::make_shared<Checkpoint>();
  checkpoint->directory_ = directory;
  ASSIGN_OR_RETURN(checkpoint->files_, open_files(directory));
  for (const SafetensorsFile& file : checkpoint->files_) {
    // No name can stand in two shards: the index places each in one, and no shard holds others.
    for (const auto& [name, tensor] : file.tensors()) checkpoint->tensors_.emplace(name, &tensor);
  }
  return std::shared_ptr<const Checkpoint>(checkpoint);
}

const StoredTensor* Checkpoint::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it != tensors_.end() ? it->second : nullptr;
}

int64_t Checkpoint::total_bytes() const {
  int64_t total = 0;
  for (const auto& [name, tensor] : tensors_) total += std::ssize(tensor->bytes);
  return total;
}

std::map<std::string_view, int64_t> Checkpoint::bytes_by_dtype() const {
  std::map<std::string_view, int64_t> bytes;
  for (const auto& [name, tensor] : tensors_) bytes[tensor->dtype] += std::ssize(tensor->bytes);
  return bytes;
}

}  // namespace indexshare
