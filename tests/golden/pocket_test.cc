// The bundled model against its recorded answers (models/pocket/goldens).
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "engine/generate.h"
#include "golden/support.h"

namespace indexshare {
namespace {

// Prompt 11 sits on a near-tie: two runs of the reference differ there by 1.7e-3.
constexpr int kNearTie = 11;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Json prompts() {
  auto json = parse_json(read(testing::pocket_path() / "goldens/goldens.json"), "goldens.json");
  EXPECT_TRUE(json.ok()) << json.error().message;
  return json.ok() ? (*json)["prompts"] : Json::array();
}

EngineOptions exact_options() {
  EngineOptions options;
  options.threads = 2;
  options.compute = ComputeType::f32;
  options.cache_dtype = DType::f32;
  return options;
}

TEST(Pocket, GreedyIdsTextsAndLogitsAreTheRecordedOnes) {
  const auto engine = testing::load_engine(testing::pocket_path(), exact_options());
  ASSERT_NE(engine, nullptr);
  const auto logits_file = SafetensorsFile::open(testing::pocket_path() / "goldens/goldens.safetensors");
  ASSERT_TRUE(logits_file.ok()) << logits_file.error().message;
  auto recorded = [&](int i, const char* what) {
    const StoredTensor* tensor = logits_file->find("p" + std::to_string(i) + "." + what);
    EXPECT_NE(tensor, nullptr);
    std::vector<float> values(tensor->bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
    return values;
  };
  int checked = 0;
  for (const Json& prompt : prompts()) {
    const int number = prompt["i"].get<int>();
    SCOPED_TRACE(number);
    // the template, the tokenizer, the model and the sampler, one after another
    const auto rendered =
        engine->chat_template()->render({{"messages", prompt["messages"]}, {"add_generation_prompt", true}});
    ASSERT_TRUE(rendered.ok()) << rendered.error().message;
    EXPECT_EQ(*rendered, prompt["prompt"].get<std::string>());
    const auto ids = prompt["input_ids"].get<std::vector<int32_t>>();
    EXPECT_EQ(engine->tokenizer()->encode(*rendered), ids);

    GenerationRequest request;
    request.prompt = ids;
    request.sampling.temperature = 0;
    const auto want = prompt["output_ids"].get<std::vector<int32_t>>();
    request.max_tokens = std::ssize(want);
    Session session(*engine);
    std::string streamed;
    const auto result = generate(
        session, request,
        [&](const GeneratedPiece& piece) {
          streamed += piece.text;
          return true;
        },
        [](int64_t, int64_t) { return true; });
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->ids, want);
    EXPECT_EQ(result->text, prompt["text"].get<std::string>());
    EXPECT_EQ(streamed, result->text);

    // the logits that chose the first and the last token
    Session again(*engine);
    testing::Trace trace(engine->config());
    std::vector<int32_t> all = ids;
    all.insert(all.end(), want.begin(), want.end() - 1);
    testing::run(again, all, 100, trace);
    const double tolerance = number == kNearTie ? 5e-3 : 1e-4;
    EXPECT_LE(testing::max_difference(recorded(number, "last_logits"), trace.logits[ids.size() - 1]),
              tolerance);
    EXPECT_LE(testing::max_difference(recorded(number, "final_step_logits"), trace.logits.back()), tolerance);
    ++checked;
  }
  EXPECT_EQ(checked, 20);
}

}  // namespace
}  // namespace indexshare
