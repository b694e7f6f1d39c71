#include "checkpoint/safetensors_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "temporary_directory.h"

namespace indexshare {
namespace {

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  const TemporaryDirectory directory;
  const std::vector<TensorDeclaration> tensors = {{"f\"loat", DType::f32, {2, 3}},
                                                  {"int", DType::i32, {2}},
                                                  {"empty", DType::f32, {0}},
                                                  {"half", DType::bf16, {1}}};
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const std::vector<int32_t> ints = {-1, 7};
  auto writer = SafetensorsWriter::create(directory / "x", tensors, {{"made by", "a test"}});
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  const auto bytes = std::as_bytes(std::span(floats));
  ASSERT_TRUE(writer->write(bytes.first(5)).ok());  // pieces need not end where values do
  ASSERT_TRUE(writer->write(bytes.subspan(5)).ok());
  ASSERT_TRUE(writer->write(std::as_bytes(std::span(ints))).ok());
  ASSERT_TRUE(writer->write(std::as_bytes(std::span("ab", 2))).ok());
  EXPECT_FALSE(std::filesystem::exists(directory / "x"));
  ASSERT_TRUE(writer->finish().ok());

  const auto file = SafetensorsFile::open(directory / "x");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->metadata().at("made by"), "a test");
  EXPECT_EQ(file->tensors().size(), 4u);
  const StoredTensor* read = file->find("f\"loat");
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->dtype, "F32");
  EXPECT_EQ(read->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(read->bytes.data(), floats.data(), bytes.size()), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read->bytes.data()) % 8, 0u);
  EXPECT_EQ(std::memcmp(file->find("int")->bytes.data(), ints.data(), 8), 0);
  EXPECT_EQ(file->find("half")->dtype, "BF16");
}

TEST(SafetensorsWriter, CountsTheBytesItIsGiven) {
  const TemporaryDirectory directory;
  {
    const std::vector<TensorDeclaration> tensors = {{"a", DType::f32, {2}}};
    auto writer = SafetensorsWriter::create(directory / "x", tensors);
    ASSERT_TRUE(writer.ok());
    EXPECT_EQ(writer->finish().error().message,
              (directory / "x").string() + ": 8 bytes of the declared tensors were not written");
    const std::vector<std::byte> nine(9);
    EXPECT_EQ(writer->write(nine).error().message,
              (directory / "x").string() + ": 1 bytes more than the declared tensors take");
  }
  EXPECT_EQ(directory.count(), 0);
}

TEST(SafetensorsWriter, RefusesImpossibleDeclarations) {
  const TemporaryDirectory directory;
  const auto message = [&](std::vector<TensorDeclaration> tensors) {
    const auto writer = SafetensorsWriter::create(directory / "x", tensors);
    return writer.ok() ? "" : writer.error().message.substr((directory / "x").string().size());
  };
  EXPECT_EQ(message({{"a", DType::f32, {-1}}}), ": tensor a has the impossible shape [-1]");
  EXPECT_EQ(message({{"a", DType::f32, {INT64_MAX, 2}}}),
            ": tensor a has the impossible shape [9223372036854775807, 2]");
  EXPECT_EQ(message({{"a", DType::f32, {1}}, {"a", DType::f32, {1}}}), ": the tensor name a is taken");
  EXPECT_EQ(message({{"__metadata__", DType::f32, {1}}}), ": the tensor name __metadata__ is taken");
  EXPECT_EQ(directory.count(), 0);
}

}  // namespace
}  // namespace indexshare
