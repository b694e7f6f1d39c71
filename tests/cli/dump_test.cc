// indexshare dump through the program: its files against the reference's (tests/golden/data/README.md).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "checkpoint/safetensors.h"
#include "cli/run_program.h"
#include "temporary_directory.h"

namespace indexshare {
namespace {

using testing::run_program;

std::string golden_path(const std::string& name) {
  return std::string(INDEXSHARE_SOURCE_DIR) + "/tests/golden/data/" + name;
}

const std::string kPocket = std::string(INDEXSHARE_SOURCE_DIR) + "/models/pocket";

SafetensorsFile open_file(const std::filesystem::path& path) {
  auto file = SafetensorsFile::open(path);
  EXPECT_TRUE(file.ok()) << file.error().message;
  return std::move(file).value();
}

template <typename T>
std::vector<T> values(const SafetensorsFile& file, const std::string& name) {
  const StoredTensor* tensor = file.find(name);
  if (tensor == nullptr) {
    ADD_FAILURE() << name << " is missing";
    return {};
  }
  std::vector<T> copy(tensor->bytes.size() / sizeof(T));
  std::memcpy(copy.data(), tensor->bytes.data(), tensor->bytes.size());
  return copy;
}

template <typename Ids>
std::string list(const Ids& ids) {
  std::string text;
  for (const auto id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

// Greatest difference; infinite where the sizes or any NaN differ.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    if (!(difference <= worst)) worst = difference;
  }
  return worst;
}

class DumpGolden : public ::testing::TestWithParam<const char*> {
 protected:
  TemporaryDirectory directory_;
};

TEST_P(DumpGolden, EveryTensorIsTheReferences) {
  const SafetensorsFile golden = open_file(golden_path(GetParam()) + "/goldens.safetensors");
  for (const std::string prompt : {"p1", "p17", "p96"}) {
    SCOPED_TRACE(prompt);
    const std::string out = (directory_ / (prompt + ".safetensors")).string();
    const auto ids = values<int32_t>(golden, prompt + ".input_ids");
    const auto result = run_program({"dump", golden_path(GetParam()), "--ids", list(ids), "--out", out,
                                     "--compute", "f32", "--cache-dtype", "f32", "--threads", "2"});
    ASSERT_EQ(result.code, 0) << result.err;
    const SafetensorsFile dump = open_file(out);
    for (const std::string name : {"logits", "topk", "router_ids", "router_weights", "hidden"}) {
      const StoredTensor* want = golden.find(prompt + "." + name);
      if (want == nullptr) {
        EXPECT_EQ(name, "hidden");  // not recorded for every prompt
        continue;
      }
      ASSERT_NE(dump.find(name), nullptr) << name;
      EXPECT_EQ(dump.find(name)->shape, want->shape) << name;
      EXPECT_EQ(dump.find(name)->dtype, want->dtype) << name;
    }
    const auto close = [&](const std::string& name, double tolerance) {
      EXPECT_LE(distance(values<float>(dump, name), values<float>(golden, prompt + "." + name)), tolerance)
          << name;
    };
    close("logits", 5e-4);
    close("router_weights", 1e-4);
    if (golden.find(prompt + ".hidden") != nullptr) close("hidden", 1e-3);
    // Every margin of a recorded choice is above what rounding can move.
    EXPECT_EQ(values<int32_t>(dump, "topk"), values<int32_t>(golden, prompt + ".topk"));
    EXPECT_EQ(values<int32_t>(dump, "router_ids"), values<int32_t>(golden, prompt + ".router_ids"));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, DumpGolden,
                         ::testing::Values("tiny-5.2", "tiny-5.1", "odd", "tiny-5.2-bf16", "fp8",
                                           "tiny-5.1-sharded", "mtp", "smooth-5.2-bf16"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

class Dump : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return (directory_ / name).string(); }

  // dump of the first 50 ids of a golden model, with more arguments.
  testing::ProgramResult dump(const std::string& out, std::vector<std::string> more,
                              const testing::ProgramOptions& options = {}) const {
    std::vector<int> ids(50);
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int>(i * 7 % 300);
    std::vector<std::string> arguments = {"dump", golden_path("tiny-5.2"), "--ids", list(ids), "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, options);
  }

  TemporaryDirectory directory_;
};

TEST_F(Dump, IsBitwiseTheSameForAnyChunkAndThreads) {
  ASSERT_EQ(dump(file("whole"), {"--threads", "1"}).code, 0);
  ASSERT_EQ(dump(file("chunks"), {"--threads", "2", "--chunk", "7"}).code, 0);
  ASSERT_EQ(dump(file("single"), {"--threads", "1", "--chunk", "1"}).code, 0);
  const SafetensorsFile whole = open_file(file("whole"));
  for (const char* name : {"chunks", "single"}) {
    const SafetensorsFile other = open_file(file(name));
    ASSERT_EQ(other.tensors().size(), 5u);
    for (const auto& [tensor_name, tensor] : other.tensors()) {
      const auto& same = *whole.find(tensor_name);
      EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), same.bytes.begin(), same.bytes.end()))
          << tensor_name;
    }
  }
}

TEST_F(Dump, LeavesOutWhatIsNotAskedFor) {
  ASSERT_EQ(dump(file("all"), {}).code, 0);
  ASSERT_EQ(dump(file("some"), {"--only", "topk,router_ids"}).code, 0);
  const SafetensorsFile all = open_file(file("all"));
  const SafetensorsFile some = open_file(file("some"));
  ASSERT_EQ(some.tensors().size(), 2u);
  for (const char* name : {"topk", "router_ids"}) {
    EXPECT_EQ(values<int32_t>(some, name), values<int32_t>(all, name));
  }
}

TEST_F(Dump, SaysHowItWasMade) {
  const auto result = dump(file("out"), {"--compute", "bf16", "--chunk", "9", "--threads", "2"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("logits"), std::string::npos);
  const SafetensorsFile out = open_file(file("out"));
  EXPECT_EQ(out.metadata().at("compute"), "bf16");
  EXPECT_EQ(out.metadata().at("cache_dtype"), "bf16");
  EXPECT_EQ(out.metadata().at("chunk"), "9");
  EXPECT_EQ(out.metadata().at("full_layers"), "0,1,2,6,10");
  EXPECT_EQ(out.metadata().at("indexshare"), INDEXSHARE_VERSION);
}

TEST_F(Dump, TakesIdsFromAFileAndTextThroughTheTokenizer) {
  directory_.write("ids", "[5, 6,\n7 8]\n");
  const std::vector<std::string> rest = {"--only", "logits", "--out", file("from-file")};
  auto arguments = std::vector<std::string>{"dump", kPocket, "--ids-file", file("ids")};
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  ASSERT_EQ(run_program(arguments).code, 0);
  ASSERT_EQ(
      run_program({"dump", kPocket, "--ids", "5,6,7,8", "--only", "logits", "--out", file("from-list")}).code,
      0);
  EXPECT_EQ(values<float>(open_file(file("from-file")), "logits"),
            values<float>(open_file(file("from-list")), "logits"));

  const std::string text = "What is a parrakeet?";
  const auto tokens = run_program({"tokenize", kPocket, text});
  ASSERT_EQ(tokens.code, 0) << tokens.err;
  ASSERT_EQ(run_program({"dump", kPocket, "--prompt", text, "--only", "logits", "--out", file("text")}).code,
            0);
  ASSERT_EQ(
      run_program({"dump", kPocket, "--ids-file", "-", "--only", "logits", "--out", file("ids-of-text")},
                  {.input = tokens.out})
          .code,
      0);
  EXPECT_EQ(values<float>(open_file(file("text")), "logits"),
            values<float>(open_file(file("ids-of-text")), "logits"));
}

// A file system that takes only so much: first the logits run out of room, then a spool, then the tensors
// that are copied behind the logits.
TEST_F(Dump, AFullDiskLeavesNothingBehind) {
  ASSERT_EQ(dump(file("whole"), {}).code, 0);
  const auto size = static_cast<rlim_t>(std::filesystem::file_size(file("whole")));
  std::filesystem::remove(file("whole"));
  for (const rlim_t limit : {rlim_t{100}, rlim_t{20000}, size / 2, size - 1}) {
    const auto result = dump(file("out"), {}, {.input = "", .largest_file = limit});
    EXPECT_EQ(result.code, 1) << "at " << limit << " of " << size << " bytes: " << result.err;
    EXPECT_NE(result.err.find("cannot write"), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(directory_.count(), 0) << "at " << limit << " of " << size << " bytes";
  }
  EXPECT_EQ(dump(file("out"), {}, {.input = "", .largest_file = size}).code, 0);
}

TEST_F(Dump, AFailureKeepsTheFileThatStood) {
  directory_.write("out", "precious");
  EXPECT_EQ(dump(file("out"), {}, {.input = "", .largest_file = 1000}).code, 1);
  EXPECT_EQ(directory_.count(), 1);
  EXPECT_EQ(directory_.read("out"), "precious");
}

TEST_F(Dump, OneSentenceForEachWrongArgument) {
  const std::string model = golden_path("tiny-5.2");
  const auto expect = [&](int code, const std::string& sentence, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "dump");
    const auto result = run_program(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_NE(result.err.find(sentence), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(directory_.count(), 0);
  };
  const std::string out = file("out");
  expect(2, "MODEL", {});
  expect(2, "--out", {model, "--ids", "1"});
  expect(2, "one of --ids, --ids-file and --prompt", {model, "--out", out});
  expect(2, "one of --ids, --ids-file and --prompt", {model, "--out", out, "--ids", "1", "--prompt", "a"});
  expect(2, "--ids", {model, "--out", out, "--ids", "1,x"});
  expect(2, "--only", {model, "--out", out, "--ids", "1", "--only", "logits,nothing"});
  expect(2, "--chunk", {model, "--out", out, "--ids", "1", "--chunk", "0"});
  expect(2, "--compute", {model, "--out", out, "--ids", "1", "--compute", "f64"});
  expect(1, "999999", {model, "--out", out, "--ids", "1,999999"});
  expect(1, "tokenizer.json", {model, "--out", out, "--prompt", "a"});
  expect(1, "context", {model, "--out", out, "--ids", "1,2,3", "--context", "2"});
  expect(1, "no-model", {file("no-model"), "--out", out, "--ids", "1"});
  expect(1, "no-ids", {model, "--out", out, "--ids-file", file("no-ids")});
  expect(1, "no-directory", {model, "--out", file("no-directory/out"), "--ids", "1"});
  expect(1, "directory", {model, "--out", directory_.path().string(), "--ids", "1"});
  expect(1, "/dev/full", {model, "--out", "/dev/full", "--ids", "1"});
}

}  // namespace
}  // namespace indexshare
