#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "raw_safetensors.h"
#include "temporary_directory.h"

namespace indexshare {
namespace {

const std::filesystem::path kGoldens = INDEXSHARE_SOURCE_DIR "/tests/golden/data";

std::string message(const std::filesystem::path& directory) {
  const auto checkpoint = Checkpoint::open(directory);
  return checkpoint.ok() ? "" : checkpoint.error().message;
}

TEST(Checkpoint, ShardedEqualsUnsharded) {
  const auto whole = Checkpoint::open(kGoldens / "tiny-5.1");
  const auto sharded = Checkpoint::open(kGoldens / "tiny-5.1-sharded");
  ASSERT_TRUE(whole.ok() && sharded.ok());
  EXPECT_EQ((*whole)->shards(), 1);
  EXPECT_EQ((*sharded)->shards(), 3);
  ASSERT_EQ((*whole)->tensors().size(), (*sharded)->tensors().size());
  EXPECT_EQ((*whole)->total_bytes(), 1207712);  // the index's total_size
  EXPECT_EQ((*sharded)->total_bytes(), 1207712);
  for (const auto& [name, tensor] : (*whole)->tensors()) {
    const StoredTensor* other = (*sharded)->find(name);
    ASSERT_NE(other, nullptr) << name;
    EXPECT_EQ(tensor->dtype, other->dtype);
    EXPECT_EQ(tensor->shape, other->shape);
    ASSERT_EQ(tensor->bytes.size(), other->bytes.size());
    EXPECT_EQ(std::memcmp(tensor->bytes.data(), other->bytes.data(), tensor->bytes.size()), 0) << name;
  }
}

TEST(Checkpoint, SumsBytesByDtype) {
  const TemporaryDirectory directory;
  directory.write(
      "model.safetensors",
      raw_file({{"a", "F32", {2}, "12345678"}, {"b", "I64", {1}, "12345678"}, {"c", "F32", {1}, "1234"}}));
  const auto checkpoint = Checkpoint::open(directory.path());
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ((*checkpoint)->bytes_by_dtype(), (std::map<std::string_view, int64_t>{{"F32", 12}, {"I64", 8}}));
  EXPECT_EQ((*checkpoint)->total_bytes(), 20);
}

TEST(Checkpoint, SaysWhatItLookedFor) {
  const TemporaryDirectory directory;
  EXPECT_EQ(message(directory.path()),
            directory.path().string() + ": holds neither model.safetensors nor model.safetensors.index.json");
  EXPECT_EQ(message(directory / "none"),
            (directory / "none").string() +
                ": is not a directory; a model is a directory that holds config.json and "
                "model.safetensors or model.safetensors.index.json");
  EXPECT_EQ(
      message(directory.write("file", "x")).find((directory / "file").string() + ": is not a directory"), 0u);
}

class Index : public testing::Test {
 protected:
  void SetUp() override {
    directory_.write("one", raw_file({{"a", "U8", {1}, "1"}, {"b", "U8", {1}, "2"}}));
    directory_.write("two", raw_file({{"c", "U8", {1}, "3"}}));
  }

  std::string message_with(std::string_view index) {
    directory_.write("model.safetensors.index.json", index);
    std::string text = message(directory_.path());
    const std::string prefix = directory_.path().string() + "/";
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  }

  TemporaryDirectory directory_;
};

TEST_F(Index, PlacesEachTensorInAShard) {
  EXPECT_EQ(
      message_with(R"({"metadata": {"total_size": 3}, "weight_map": {"a": "one", "b": "one", "c": "two"}})"),
      "");
  const auto checkpoint = Checkpoint::open(directory_.path());
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ(static_cast<char>((*checkpoint)->find("c")->bytes[0]), '3');
}

TEST_F(Index, DisagreementsWithTheShardsAreRefused) {
  EXPECT_EQ(message_with(R"({"weight_map": {"a": "one", "b": "one", "c": "two", "d": "two"}})"),
            "two: lacks the tensor d, which model.safetensors.index.json places there");
  EXPECT_EQ(message_with(R"({"weight_map": {"a": "one", "c": "two"}})"),
            "one: holds the tensor b, which model.safetensors.index.json does not place there");
  EXPECT_EQ(message_with(R"({"weight_map": {"a": "one", "b": "one", "c": "three"}})"),
            "three: cannot open: No such file or directory");
}

TEST_F(Index, ShardsAreFilesOfTheSameDirectory) {
  for (const std::string shard : {R"("../two")", R"("/etc/passwd")", R"("sub/two")", R"("..")", R"(".")",
                                  R"("")", R"("a\u0000b")", "1", "null"}) {
    EXPECT_EQ(message_with(R"({"weight_map": {"c": )" + shard + "}}"),
              "model.safetensors.index.json: places the tensor c in " + shard +
                  ", expected the name of a file in the same directory");
  }
}

TEST_F(Index, DamageIsRefused) {
  const std::string no_map =
      "model.safetensors.index.json: has no \"weight_map\" object that names a shard for each tensor";
  EXPECT_EQ(message_with("[]"), no_map);
  EXPECT_EQ(message_with("{}"), no_map);
  EXPECT_EQ(message_with(R"({"weight_map": []})"), no_map);
  EXPECT_EQ(message_with(R"({"weight_map": {}})"), no_map);
  EXPECT_EQ(
      message_with(R"({"weight_map": {"a": "one")").find("model.safetensors.index.json: not valid JSON"), 0u);
  EXPECT_EQ(message_with(R"({"weight_map": {"a": "one", "a": "two"}})"),
            "model.safetensors.index.json: the key \"a\" stands twice in one object");
}

}  // namespace
}  // namespace indexshare
