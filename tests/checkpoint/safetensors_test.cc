#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <span>
#include <string>

#include "raw_safetensors.h"
#include "temporary_directory.h"

namespace indexshare {
namespace {

Result<SafetensorsFile> parse(std::string_view file) {
  return SafetensorsFile::parse(std::as_bytes(std::span(file)), "f");
}

std::string message(std::string_view file) {
  const auto result = parse(file);
  return result.ok() ? "" : result.error().message;
}

/// The error of a file with this header and 24 bytes of data.
std::string header_message(std::string_view header) {
  return message(raw_file(header, std::string(24, '\0')));
}

/// The error of a file whose only tensor has this entry.
std::string entry_message(std::string_view entry) {
  return header_message(R"({"a":)" + std::string(entry) + "}");
}

TEST(Safetensors, FindsTensorsAndMetadata) {
  const std::string data = "0123456789abcdefghijklmn";
  const std::string file = raw_file(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[4,2],"data_offsets":[8,24]},)"
      R"("a":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"none":{"dtype":"F32","shape":[0,5],"data_offsets":[8,8]}})",
      data);
  const auto result = parse(file);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->tensors().size(), 3u);
  EXPECT_EQ(result->metadata().at("format"), "pt");
  const StoredTensor* b = result->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, "BF16");
  EXPECT_EQ(b->shape, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(b->bytes.data()), b->bytes.size()), data.substr(8));
  EXPECT_EQ(result->find("a")->bytes.size(), 8u);
  EXPECT_TRUE(result->find("none")->bytes.empty());
  EXPECT_EQ(result->find("c"), nullptr);
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string file = raw_file({{"a", "F32", {2, 3}, std::string(24, 'x')}});
  ASSERT_TRUE(parse(file).ok());
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(parse(std::string_view(file).substr(0, size)).ok()) << size;
  }
  EXPECT_EQ(message(file + "x"), "f: 1 bytes behind the last tensor belong to none");
}

TEST(Safetensors, HeaderLengthsBeyondTheFileAreRefused) {
  EXPECT_EQ(message("1234567"), "f: has 7 bytes, too few for a safetensors file");
  std::string file = raw_file("{}", "");
  EXPECT_EQ(message(file), "");
  file[0] = 3;
  EXPECT_NE(message(file).find("the header claims 3 bytes, but there may be at most 2"), std::string::npos);
  file.replace(0, 8, 8, '\xff');
  EXPECT_NE(message(file).find("claims 18446744073709551615 bytes"), std::string::npos);
}

TEST(Safetensors, DamagedHeadersAreRefused) {
  EXPECT_EQ(header_message(""), "f: the header does not begin with '{'");
  EXPECT_EQ(header_message(" {}"), "f: the header does not begin with '{'");
  EXPECT_EQ(header_message("[]"), "f: the header does not begin with '{'");
  EXPECT_EQ(header_message(R"({"a":)").find("f: not valid JSON"), 0u);
  EXPECT_EQ(header_message("{\"\xff\":1}").find("f: not valid JSON"), 0u);
  EXPECT_EQ(header_message(R"({"__metadata__":[]})"), "f: \"__metadata__\" is not an object");
  EXPECT_EQ(header_message(R"({"__metadata__":{"a":1}})"),
            "f: \"__metadata__\" holds an integer under \"a\", expected a string");
  EXPECT_EQ(header_message(R"({"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]},)"
                           R"("a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}})"),
            "f: the key \"a\" stands twice in one object");
}

TEST(Safetensors, DamagedEntriesAreRefused) {
  EXPECT_EQ(entry_message(R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})"), "");
  EXPECT_EQ(entry_message("1"), "f: tensor a: its entry in the header is not an object");
  EXPECT_EQ(entry_message(R"({"shape":[2,3],"data_offsets":[0,24]})"),
            "f: tensor a: has no \"dtype\" string");
  EXPECT_EQ(entry_message(R"({"dtype":3,"shape":[2,3],"data_offsets":[0,24]})"),
            "f: tensor a: has no \"dtype\" string");
  EXPECT_EQ(entry_message(R"({"dtype":"F33","shape":[2,3],"data_offsets":[0,24]})"),
            "f: tensor a: has the unknown dtype \"F33\"");
  EXPECT_EQ(entry_message(R"({"dtype":"F32","data_offsets":[0,24]})"), "f: tensor a: has no \"shape\" list");
  EXPECT_EQ(entry_message(R"({"dtype":"F32","shape":6,"data_offsets":[0,24]})"),
            "f: tensor a: has no \"shape\" list");
  for (const std::string size :
       {"-1", "1.5", "6.0", "\"6\"", "null", "[6]", "9223372036854775808", "1e300"}) {
    EXPECT_NE(entry_message(R"({"dtype":"F32","shape":[)" + size + R"(],"data_offsets":[0,24]})")
                  .find("in its shape, expected a whole number"),
              std::string::npos)
        << size;
  }
  for (const std::string offsets : {"", "[0]", "[0,1,2]", "24", "{}"}) {
    const std::string field = offsets.empty() ? "" : R"(,"data_offsets":)" + offsets;
    EXPECT_EQ(entry_message(R"({"dtype":"F32","shape":[6])" + field + "}"),
              "f: tensor a: has no \"data_offsets\" list of two numbers");
  }
  for (const std::string offsets : {"[0,25]", "[-1,24]", "[24,0]", "[0,18446744073709551615]",
                                    "[0,9223372036854775807]", "[0.0,24]", "[null,24]"}) {
    EXPECT_NE(entry_message(R"({"dtype":"F32","shape":[6],"data_offsets":)" + offsets + "}")
                  .find("do not lie within the file's 24 bytes of data"),
              std::string::npos)
        << offsets;
  }
}

TEST(Safetensors, SizesThatOverflowOrDisagreeAreRefused) {
  EXPECT_EQ(entry_message(R"({"dtype":"F32","shape":[5],"data_offsets":[0,24]})"),
            "f: tensor a: [5] of F32 takes 20 bytes, but its data_offsets span 24");
  // Products that wrap, some of them to 0, may not pass for a small tensor.
  for (const char* shape : {"4611686018427387904,4611686018427387904", "4611686018427387904,4",
                            "9223372036854775807", "9223372036854775807,9223372036854775807,0"}) {
    EXPECT_NE(
        entry_message(R"({"dtype":"F32","shape":[)" + std::string(shape) + R"(],"data_offsets":[0,24]})")
            .find("has the impossible size"),
        std::string::npos)
        << shape;
  }
  EXPECT_EQ(entry_message(R"({"dtype":"F4","shape":[48],"data_offsets":[0,24]})"), "");
  EXPECT_EQ(entry_message(R"({"dtype":"F4","shape":[47],"data_offsets":[0,24]})"),
            "f: tensor a: has the impossible size [47] of F4");
}

TEST(Safetensors, TensorsTileTheData) {
  const auto two = [](std::string_view a, std::string_view b) {
    return header_message(R"({"a":{"dtype":"U8",)" + std::string(a) + R"(},"b":{"dtype":"U8",)" +
                          std::string(b) + "}}");
  };
  EXPECT_EQ(two(R"("shape":[10],"data_offsets":[0,10])", R"("shape":[14],"data_offsets":[10,24])"), "");
  EXPECT_EQ(two(R"("shape":[14],"data_offsets":[10,24])", R"("shape":[10],"data_offsets":[0,10])"), "");
  EXPECT_EQ(two(R"("shape":[11],"data_offsets":[0,11])", R"("shape":[14],"data_offsets":[10,24])"),
            "f: tensor b begins at byte 10 of the data, expected 11 (it overlaps another tensor)");
  EXPECT_EQ(two(R"("shape":[24],"data_offsets":[0,24])", R"("shape":[24],"data_offsets":[0,24])"),
            "f: tensor b begins at byte 0 of the data, expected 24 (it overlaps another tensor)");
  EXPECT_EQ(two(R"("shape":[9],"data_offsets":[0,9])", R"("shape":[14],"data_offsets":[10,24])"),
            "f: tensor b begins at byte 10 of the data, expected 9 (bytes before it belong to none)");
  EXPECT_EQ(two(R"("shape":[10],"data_offsets":[0,10])", R"("shape":[13],"data_offsets":[10,23])"),
            "f: 1 bytes behind the last tensor belong to none");
}

TEST(Safetensors, DtypesGoBothWays) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::fp8_e4m3, DType::i32}) {
    EXPECT_EQ(dtype_from_safetensors(dtype_to_safetensors(dtype)), dtype);
  }
  EXPECT_EQ(dtype_from_safetensors("F64"), std::nullopt);
}

TEST(Safetensors, SixtyThousandTensorsOpenQuickly) {
  std::vector<RawTensor> tensors;
  for (int i = 0; i < 60000; ++i) {
    tensors.push_back(
        {"model.layers.10.mlp.experts." + std::to_string(i) + ".gate_proj.weight", "BF16", {1, 2}, "abcd"});
  }
  const std::string file = raw_file(tensors);
  const auto begin = std::chrono::steady_clock::now();
  const auto result = parse(file);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->tensors().size(), 60000u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));  // 0.2 s, unless sanitized
}

TEST(Safetensors, NamesTheFileItOpens) {
  const TemporaryDirectory directory;
  const auto path = directory.write("x.safetensors", "junk");
  EXPECT_EQ(SafetensorsFile::open(path).error().message,
            path.string() + ": has 4 bytes, too few for a safetensors file");
  EXPECT_NE(SafetensorsFile::open(directory / "none").error().message.find("No such file"),
            std::string::npos);
}

}  // namespace
}  // namespace indexshare
