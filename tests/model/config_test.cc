#include "model/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "temporary_directory.h"

namespace indexshare {
namespace {

const std::filesystem::path kSource = INDEXSHARE_SOURCE_DIR;
const std::filesystem::path kGoldens = kSource / "tests/golden/data";

/// A small valid config.json that the tests change field by field.
SortedJson small() {
  return SortedJson::parse(R"({
    "model_type": "glm_moe_dsa", "vocab_size": 100, "hidden_size": 32, "intermediate_size": 64,
    "moe_intermediate_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "q_lora_rank": 16,
    "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "index_n_heads": 2,
    "index_head_dim": 8, "index_topk": 4, "n_routed_experts": 8, "num_experts_per_tok": 2})");
}

Result<Config> parse_with(const SortedJson& changes) {
  SortedJson json = small();
  json.update(changes);
  return parse_config(json, "c");
}

std::string message_with(const SortedJson& changes) {
  const auto config = parse_with(changes);
  return config.ok() ? "" : config.error().message;
}

std::string schedule_with(const SortedJson& changes) {
  const auto config = parse_with(changes);
  return config.ok() ? config->schedule() : config.error().message;
}

TEST(Config, DefaultsAreThoseOfTransformers) {
  const auto defaults = load_config(kGoldens / "config_defaults.json");
  ASSERT_TRUE(defaults.ok()) << defaults.error().message;
  const auto bare = parse_config(SortedJson{{"model_type", "glm_moe_dsa"}}, "c");
  ASSERT_TRUE(bare.ok()) << bare.error().message;
  EXPECT_EQ(*bare, *defaults);
  EXPECT_EQ(bare->num_hidden_layers, 78);
  EXPECT_EQ(bare->full_layers(), 78);
  EXPECT_EQ(bare->rope_theta, 10000.0f);
  EXPECT_EQ(bare->eos_token_ids, std::vector<int32_t>{1});
  EXPECT_TRUE(bare->indexer_rope_interleave);
  EXPECT_EQ(bare->num_nextn_predict_layers, 0);
}

TEST(Config, ReadsGlm52) {
  const auto config = load_config(kSource / "models/glm-5.2");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->num_hidden_layers, 78);
  EXPECT_EQ(config->num_nextn_predict_layers, 1);
  EXPECT_EQ(config->full_layers(), 21);
  EXPECT_EQ(config->qk_rope_head_dim, 64);  // head_dim says 192
  EXPECT_EQ(config->qk_head_dim(), 256);
  EXPECT_EQ(config->latent_width(), 576);
  EXPECT_EQ(config->rope_theta, 8e6f);
  EXPECT_EQ(config->max_position_embeddings, 1048576);
  EXPECT_EQ(config->routed_scaling_factor, 2.5f);
  EXPECT_EQ(config->eos_token_ids, (std::vector<int32_t>{154820, 154827, 154829}));
  EXPECT_EQ(config->dtype, DType::bf16);
  EXPECT_EQ(std::count(config->mlp_sparse.begin(), config->mlp_sparse.end(), false), 3);
  EXPECT_FALSE(config->mlp_sparse[2]);
  EXPECT_TRUE(config->mlp_sparse[3]);
}

TEST(Config, ReadsEveryGoldenConfig) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kGoldens)) {
    if (!entry.is_directory()) continue;
    const auto config = load_config(entry.path());
    EXPECT_TRUE(config.ok()) << config.error().message;
    ++count;
  }
  EXPECT_EQ(count, 8);
  const auto fp8 = load_config(kGoldens / "fp8" / "config.json");
  ASSERT_TRUE(fp8.ok());
  EXPECT_EQ(fp8->schedule(), "FSFS");
  EXPECT_EQ(fp8->fp8_block_rows, 128);
  const auto odd = load_config(kGoldens / "odd");
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->n_group, 2);
  EXPECT_EQ(odd->n_shared_experts, 2);
  EXPECT_EQ(odd->dtype, DType::f32);
  const auto pocket = load_config(kSource / "models/pocket");
  ASSERT_TRUE(pocket.ok());
  EXPECT_EQ(pocket->schedule(), "FFFSSSF");
  EXPECT_TRUE(pocket->tie_word_embeddings);
}

TEST(Schedule, FollowsFrequencyAndOffset) {
  SortedJson changes = {{"num_hidden_layers", 78}, {"index_topk_freq", 4}, {"index_skip_topk_offset", 3}};
  const auto config = parse_with(changes);
  ASSERT_TRUE(config.ok()) << config.error().message;
  std::vector<int64_t> full;
  for (int64_t i = 0; i < 78; ++i) {
    if (config->indexer_full[static_cast<size_t>(i)]) full.push_back(i);
  }
  std::vector<int64_t> expected = {0, 1, 2};
  for (int64_t i = 6; i <= 74; i += 4) expected.push_back(i);
  EXPECT_EQ(full, expected);
  EXPECT_EQ(config->full_layers(), 21);

  EXPECT_EQ(schedule_with({{"num_hidden_layers", 9}, {"index_topk_freq", 4}}), "FFSSSFSSS");  // offset 2
  EXPECT_EQ(schedule_with({{"num_hidden_layers", 5}, {"index_topk_freq", 2}, {"index_skip_topk_offset", 1}}),
            "FSFSF");
  EXPECT_EQ(schedule_with({{"index_skip_topk_offset", 3}}), "FFFF");
  for (const SortedJson& freq : {SortedJson(nullptr), SortedJson(0), SortedJson(1)}) {
    EXPECT_EQ(schedule_with({{"index_topk_freq", freq}, {"index_skip_topk_offset", nullptr}}), "FFFF");
  }
}

TEST(Schedule, PatternsOverrideFrequencies) {
  EXPECT_EQ(schedule_with({{"index_topk_pattern", "FSSF"}, {"index_topk_freq", 2}}), "FSSF");
  EXPECT_EQ(schedule_with({{"index_topk_pattern", {"full", "full", "shared", "shared"}}}), "FFSS");
  EXPECT_EQ(schedule_with({{"index_topk_pattern", nullptr}, {"index_topk_freq", 4}}), "FFSS");
  EXPECT_EQ(
      message_with({{"index_topk_pattern", "FSS"}}),
      "c: \"index_topk_pattern\" is \"FSS\", expected 4 letters, F (full) or S (shared) for each layer");
  EXPECT_EQ(
      message_with({{"index_topk_pattern", "FSXF"}}),
      "c: \"index_topk_pattern\" is \"FSXF\", expected 4 letters, F (full) or S (shared) for each layer");
  EXPECT_NE(message_with({{"index_topk_pattern", ""}}), "");
  EXPECT_EQ(message_with({{"index_topk_pattern", 3}}),
            "c: \"index_topk_pattern\" is 3, expected a list of \"full\" and \"shared\"");
}

TEST(Schedule, TypesOverrideEverything) {
  EXPECT_EQ(schedule_with({{"indexer_types", {"full", "shared", "shared", "shared"}},
                           {"index_topk_pattern", "FFFF"},
                           {"index_topk_freq", 2}}),
            "FSSS");
  EXPECT_EQ(schedule_with({{"indexer_types", nullptr}, {"index_topk_pattern", "FFSF"}}), "FFSF");
  EXPECT_EQ(message_with({{"indexer_types", {"full", "shared"}}}),
            "c: \"indexer_types\" has 2 entries, expected 4, one for each layer");
  EXPECT_EQ(message_with({{"indexer_types", {"full", "shared", "half", "full"}}}),
            "c: \"indexer_types\" has \"half\" for layer 2, expected \"full\" or \"shared\"");
  EXPECT_EQ(message_with({{"indexer_types", {"full", 1, "full", "full"}}}),
            "c: \"indexer_types\" has 1 for layer 1, expected \"full\" or \"shared\"");
}

TEST(Schedule, TheFirstLayerHasAnIndex) {
  const std::string reason = " makes layer 0 a shared layer, but no layer before it has an index to share";
  EXPECT_EQ(message_with({{"indexer_types", {"shared", "full", "full", "full"}}}),
            "c: \"indexer_types\"" + reason);
  EXPECT_EQ(message_with({{"index_topk_pattern", "SFFF"}}), "c: \"index_topk_pattern\"" + reason);
  EXPECT_EQ(message_with({{"index_topk_freq", 4}, {"index_skip_topk_offset", 0}}),
            "c: \"index_skip_topk_offset\"" + reason);
}

TEST(Config, MlpTypesOverrideTheNumberOfDenseLayers) {
  const auto sparse = [](const SortedJson& changes) {
    const auto config = parse_with(changes);
    return config.ok() ? config->mlp_sparse : std::vector<bool>();
  };
  EXPECT_EQ(sparse({{"first_k_dense_replace", 1}}), (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(sparse({{"first_k_dense_replace", 9}}), (std::vector<bool>{false, false, false, false}));
  EXPECT_EQ(sparse(SortedJson::object()), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(
      sparse({{"first_k_dense_replace", 1}, {"mlp_layer_types", {"sparse", "dense", "sparse", "dense"}}}),
      (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(message_with({{"mlp_layer_types", {"dense"}}}),
            "c: \"mlp_layer_types\" has 1 entries, expected 4, one for each layer");
  EXPECT_EQ(message_with({{"mlp_layer_types", {"dense", "dense", "dense", "moe"}}}),
            "c: \"mlp_layer_types\" has \"moe\" for layer 3, expected \"sparse\" or \"dense\"");
}

TEST(Config, RopeHasTwoSpellings) {
  const auto theta = [](const SortedJson& changes) {
    const auto config = parse_with(changes);
    return config.ok() ? config->rope_theta : 0.0f;
  };
  EXPECT_EQ(theta({{"rope_parameters", {{"rope_theta", 8000000}, {"rope_type", "default"}}}}), 8e6f);
  EXPECT_EQ(theta({{"rope_theta", 1000000.0}}), 1e6f);
  EXPECT_EQ(theta({{"rope_theta", 1000000}, {"rope_scaling", nullptr}}), 1e6f);
  EXPECT_EQ(theta({{"rope_theta", 5000}, {"rope_parameters", {{"rope_type", "default"}}}}), 5000.0f);
  EXPECT_EQ(theta({{"rope_scaling", {{"type", "default"}}}}), 10000.0f);
  EXPECT_EQ(message_with({{"rope_scaling", {{"type", "yarn"}, {"factor", 4}}}}),
            "c: \"rope_scaling.type\" is \"yarn\", expected \"default\"");
  EXPECT_EQ(message_with({{"rope_parameters", {{"rope_type", "linear"}}}}),
            "c: \"rope_parameters.rope_type\" is \"linear\", expected \"default\"");
  EXPECT_EQ(message_with({{"rope_theta", 5000}, {"rope_parameters", {{"rope_theta", 6000}}}}),
            "c: \"rope_parameters.rope_theta\" is 6000, expected the 5000 that \"rope_theta\" says");
  EXPECT_EQ(message_with({{"rope_parameters", {{"rope_theta", 1e4}, {"partial_rotary_factor", 0.5}}}}),
            "c: \"rope_parameters.partial_rotary_factor\" is 0.5, expected 1.0");
  EXPECT_EQ(message_with({{"rope_parameters", 3}}), "c: \"rope_parameters\" is 3, expected an object");
  EXPECT_NE(message_with({{"rope_theta", 0}}), "");
}

TEST(Config, ExpertsHaveThreeNames) {
  const auto experts = [](const SortedJson& changes) {
    const auto config = parse_with(changes);
    return config.ok() ? config->n_routed_experts : 0;
  };
  EXPECT_EQ(experts({{"num_experts", 16}}), 16);
  EXPECT_EQ(experts({{"num_local_experts", 8}}), 8);
  EXPECT_EQ(message_with({{"num_local_experts", 9}}),
            "c: \"num_local_experts\" is 9, expected the n_routed_experts of 8");
}

TEST(Config, EndOfSequenceIsOneIdOrSeveral) {
  const auto eos = [](const SortedJson& changes) {
    const auto config = parse_with(changes);
    return config.ok() ? config->eos_token_ids : std::vector<int32_t>{-1};
  };
  EXPECT_EQ(eos({{"eos_token_id", 7}}), std::vector<int32_t>{7});
  EXPECT_EQ(eos({{"eos_token_id", {7, 99}}}), (std::vector<int32_t>{7, 99}));
  EXPECT_EQ(eos({{"eos_token_id", nullptr}}), std::vector<int32_t>{});
  EXPECT_EQ(message_with({{"eos_token_id", 100}}),
            "c: \"eos_token_id\" is 100, expected a token id below the vocab_size of 100 or a list of them");
  EXPECT_EQ(message_with({{"eos_token_id", {1, "2"}}}),
            "c: \"eos_token_id\" holds \"2\", expected token ids below the vocab_size of 100");
}

TEST(Config, DtypeHasTwoNames) {
  const auto dtype = [](const SortedJson& changes) { return parse_with(changes).value().dtype; };
  EXPECT_EQ(dtype(SortedJson::object()), DType::bf16);
  EXPECT_EQ(dtype({{"dtype", "float32"}}), DType::f32);
  EXPECT_EQ(dtype({{"torch_dtype", "float16"}}), DType::f16);
  EXPECT_EQ(dtype({{"torch_dtype", "torch.bfloat16"}}), DType::bf16);
  EXPECT_EQ(message_with({{"dtype", "int8"}}),
            "c: \"dtype\" is \"int8\", expected \"bfloat16\", \"float16\" or \"float32\"");
}

TEST(Config, ReadsBlockQuantization) {
  const auto config = parse_with(
      {{"quantization_config", {{"quant_method", "fp8"}, {"fmt", "e4m3"}, {"weight_block_size", {64, 32}}}}});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->fp8_block_rows, 64);
  EXPECT_EQ(config->fp8_block_cols, 32);
  const auto message = [](const SortedJson& quantization) {
    return message_with({{"quantization_config", quantization}});
  };
  EXPECT_EQ(message(nullptr), "");
  EXPECT_EQ(message({{"quant_method", "gptq"}}),
            "c: \"quantization_config.quant_method\" is \"gptq\", expected \"fp8\"");
  EXPECT_EQ(message(SortedJson::object()),
            "c: \"quantization_config.quant_method\" is absent, expected \"fp8\"");
  EXPECT_EQ(message({{"quant_method", "fp8"}, {"fmt", "e5m2"}}),
            "c: \"quantization_config.fmt\" is \"e5m2\", expected \"e4m3\"");
  for (const char* block :
       {"null", "128", "[128]", "[128,128,128]", "[0,128]", "[-1,128]", "[128,1.5]", "[128,65537]"}) {
    EXPECT_EQ(message({{"quant_method", "fp8"}, {"weight_block_size", SortedJson::parse(block)}}),
              "c: \"quantization_config.weight_block_size\" is " + std::string(block) +
                  ", expected two integers from 1 to 65536");
  }
}

TEST(Config, OnlyThisModelFamily) {
  EXPECT_EQ(message_with({{"model_type", "deepseek_v32"}}),
            "c: \"model_type\" is \"deepseek_v32\", expected \"glm_moe_dsa\"");
  EXPECT_EQ(parse_config(SortedJson::object(), "c").error().message,
            "c: \"model_type\" is absent, expected \"glm_moe_dsa\"");
  EXPECT_EQ(parse_config(SortedJson::array(), "c").error().message, "c: is an array, expected an object");
}

TEST(Config, UnsupportedVariantsAreRefused) {
  const std::pair<SortedJson, const char*> cases[] = {
      {{{"scoring_func", "softmax"}}, "\"scoring_func\" is \"softmax\", expected \"sigmoid\""},
      {{{"topk_method", "greedy"}}, "\"topk_method\" is \"greedy\", expected \"noaux_tc\""},
      {{{"hidden_act", "gelu"}}, "\"hidden_act\" is \"gelu\", expected \"silu\""},
      {{{"moe_layer_freq", 2}}, "\"moe_layer_freq\" is 2, expected 1"},
      {{{"mlp_bias", true}}, "\"mlp_bias\" is true, expected false"},
      {{{"rope_interleave", false}}, "\"rope_interleave\" is false, expected true"},
      {{{"num_nextn_predict_layers", 2}},
       "\"num_nextn_predict_layers\" is 2, expected an integer from 0 to 1"},
      {{{"q_lora_rank", nullptr}}, "\"q_lora_rank\" is null, expected an integer from 1 to 65536"},
  };
  for (const auto& [changes, expected] : cases)
    EXPECT_EQ(message_with(changes), "c: " + std::string(expected));
}

TEST(Config, ContradictionsAreRefused) {
  const std::pair<SortedJson, const char*> cases[] = {
      {{{"qk_rope_head_dim", 5}}, "\"qk_rope_head_dim\" is 5, expected an even number: RoPE turns pairs"},
      {{{"qk_head_dim", 13}}, "\"qk_head_dim\" is 13, expected 12"},
      {{{"index_head_dim", 2}}, "\"index_head_dim\" is 2, expected at least the qk_rope_head_dim of 4"},
      {{{"num_experts_per_tok", 9}},
       "\"num_experts_per_tok\" is 9, expected at most 8, the experts of 1 of 1 groups"},
      {{{"n_group", 4}, {"num_experts_per_tok", 3}},
       "\"num_experts_per_tok\" is 3, expected at most 2, the experts of 1 of 4 groups"},
      {{{"n_group", 3}}, "\"n_group\" is 3, expected a divisor of the 8 routed experts"},
      {{{"n_group", 16}}, "\"n_group\" is 16, expected a divisor of the 8 routed experts"},
      {{{"n_group", 8}, {"topk_group", 8}},
       "\"n_group\" is 8, expected at least 2 experts per group: a group is ranked by its best two"},
      {{{"topk_group", 2}}, "\"topk_group\" is 2, expected at most the n_group of 1"},
  };
  for (const auto& [changes, expected] : cases)
    EXPECT_EQ(message_with(changes), "c: " + std::string(expected));
  EXPECT_EQ(message_with({{"n_group", 4}, {"topk_group", 2}, {"num_experts_per_tok", 4}}), "");
  EXPECT_EQ(message_with({{"head_dim", 999}, {"num_key_value_heads", 1}}), "");  // these mean nothing
}

TEST(Config, FollowsTheFlags) {
  const auto config = parse_with({{"attention_bias", true},
                                  {"norm_topk_prob", false},
                                  {"indexer_rope_interleave", false},
                                  {"tie_word_embeddings", true}});
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(config->attention_bias);
  EXPECT_FALSE(config->norm_topk_prob);
  EXPECT_FALSE(config->indexer_rope_interleave);
  EXPECT_TRUE(config->tie_word_embeddings);
}

class SizeField : public testing::TestWithParam<const char*> {};

TEST_P(SizeField, IsAPositiveIntegerWithinReason) {
  const std::string field = GetParam();
  for (const char* value : {"0", "-1", "-9223372036854775808", "9223372036854775807", "18446744073709551615",
                            "1e30", "2.5", "8.0", "\"8\"", "true", "null", "[8]", "{}"}) {
    const std::string message = message_with({{field, SortedJson::parse(value)}});
    EXPECT_EQ(message.find("c: \"" + field + "\" is "), 0u) << value << ": " << message;
    EXPECT_NE(message.find(", expected an integer from "), std::string::npos) << value << ": " << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Config, SizeField,
                         testing::Values("vocab_size", "hidden_size", "intermediate_size",
                                         "moe_intermediate_size", "num_hidden_layers", "num_attention_heads",
                                         "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim",
                                         "qk_rope_head_dim", "v_head_dim", "index_n_heads", "index_head_dim",
                                         "index_topk", "n_routed_experts", "num_experts_per_tok", "n_group",
                                         "topk_group", "max_position_embeddings"),
                         [](const auto& field) { return std::string(field.param); });

TEST(Config, NumbersAreFiniteAndWithinReason) {
  for (const char* field : {"rms_norm_eps", "routed_scaling_factor"}) {
    for (const char* value : {"0", "-1", "1e300", "\"1\"", "null", "true"}) {
      EXPECT_EQ(
          message_with({{field, SortedJson::parse(value)}}).find("c: \"" + std::string(field) + "\" is "), 0u)
          << value;
    }
  }
  for (const char* field :
       {"attention_bias", "tie_word_embeddings", "norm_topk_prob", "indexer_rope_interleave"}) {
    for (const char* value : {"0", "\"true\"", "null"}) {
      EXPECT_NE(message_with({{field, SortedJson::parse(value)}}).find(", expected true or false"),
                std::string::npos);
    }
  }
  EXPECT_EQ(message_with({{"n_shared_experts", 0}}), "");
  EXPECT_NE(message_with({{"n_shared_experts", -1}}), "");
}

TEST(Config, NamesTheDamagedFile) {
  const TemporaryDirectory directory;
  EXPECT_EQ(load_config(directory.path()).error().message,
            (directory / "config.json").string() + ": cannot open: No such file or directory");
  directory.write("config.json", R"({"model_type": NaN})");
  EXPECT_EQ(load_config(directory.path())
                .error()
                .message.find((directory / "config.json").string() + ": not valid JSON"),
            0u);
  directory.write("config.json", R"({"model_type": "glm_moe_dsa", "hidden_size": "big"})");
  EXPECT_EQ(load_config(directory / "config.json").error().message,
            (directory / "config.json").string() +
                ": \"hidden_size\" is \"big\", expected an integer from 1 to 131072");
}

}  // namespace
}  // namespace indexshare
