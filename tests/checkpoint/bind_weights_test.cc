#include "checkpoint/bind_weights.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "model/parameters.h"
#include "model/weight_shapes.h"
#include "raw_safetensors.h"
#include "temporary_directory.h"

namespace indexshare {
namespace {

const std::filesystem::path kSource = INDEXSHARE_SOURCE_DIR;
const std::filesystem::path kGoldens = kSource / "tests/golden/data";

Result<Weights> bind(const Config& config, const std::filesystem::path& directory) {
  auto checkpoint = Checkpoint::open(directory);
  if (!checkpoint.ok()) return checkpoint.error();
  return bind_weights(config, *checkpoint);
}

/// The values of a matrix, as f32.
std::vector<float> values(const Matrix& matrix) {
  std::vector<float> out(static_cast<size_t>(matrix.rows * matrix.cols));
  for (int64_t i = 0; i < matrix.rows; ++i) decode_row(matrix, i, out.data() + i * matrix.cols);
  return out;
}

/// A golden checkpoint that a test changes before it is bound.
class Changed {
 public:
  explicit Changed(const std::string& name) : config(load_config(kGoldens / name).value()) {
    const auto checkpoint = Checkpoint::open(kGoldens / name).value();
    for (const auto& [tensor_name, tensor] : checkpoint->tensors()) {
      tensors.push_back(
          {std::string(tensor_name), std::string(tensor->dtype), tensor->shape,
           std::string(reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size())});
    }
  }

  RawTensor& operator[](const std::string& name) {
    for (RawTensor& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    ADD_FAILURE() << "no tensor " << name;
    return tensors.front();
  }

  void remove(const std::function<bool(const std::string&)>& which) {
    std::erase_if(tensors, [&](const RawTensor& tensor) { return which(tensor.name); });
  }

  void add(const std::string& name, std::vector<int64_t> shape) {
    int64_t size = 4;
    for (const int64_t n : shape) size *= n;
    tensors.push_back({name, "F32", std::move(shape), std::string(static_cast<size_t>(size), '\0')});
  }

  Result<Weights> bind(bool unaligned = false) const {
    directory.write("model.safetensors", raw_file(tensors, unaligned));
    return indexshare::bind(config, directory.path());
  }

  /// The error without the directory it begins with.
  std::string message() const {
    const auto weights = bind();
    return weights.ok() ? "" : weights.error().message.substr(directory.path().string().size());
  }

  Config config;
  std::vector<RawTensor> tensors;
  TemporaryDirectory directory;
};

const std::string kMismatch = ": the weights do not match config.json: ";

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(BindWeights, EveryGoldenCheckpointLoads) {
  for (const auto& entry : std::filesystem::directory_iterator(kGoldens)) {
    if (!entry.is_directory()) continue;
    const auto config = load_config(entry.path());
    ASSERT_TRUE(config.ok()) << config.error().message;
    const auto weights = bind(*config, entry.path());
    ASSERT_TRUE(weights.ok()) << weights.error().message;
    ASSERT_EQ(std::ssize(weights->layers), config->num_hidden_layers);
    for (size_t i = 0; i < weights->layers.size(); ++i) {
      const LayerWeights& layer = weights->layers[i];
      EXPECT_EQ(layer.self_attn.indexer.has_value(), config->indexer_full[i]);
      EXPECT_EQ(layer.moe.has_value(), config->mlp_sparse[i]);
      EXPECT_EQ(layer.mlp.has_value(), !config->mlp_sparse[i]);
      if (layer.moe) {
        EXPECT_EQ(std::ssize(layer.moe->experts), config->n_routed_experts);
      }
    }
    EXPECT_EQ(weights->mtp.has_value(), config->num_nextn_predict_layers > 0);
  }
}

TEST(BindWeights, MatricesPointIntoTheFileAndKeepItOpen) {
  const Changed golden("tiny-5.2-bf16");
  Result<Weights> weights = golden.bind();
  ASSERT_TRUE(weights.ok());
  std::filesystem::remove(golden.directory / "model.safetensors");
  const Matrix& embed = weights->embed_tokens;
  EXPECT_EQ(embed.dtype, DType::bf16);
  EXPECT_EQ(embed.rows, golden.config.vocab_size);
  for (const RawTensor& tensor : golden.tensors) {
    if (tensor.name != "model.embed_tokens.weight") continue;
    EXPECT_EQ(std::memcmp(embed.data, tensor.bytes.data(), tensor.bytes.size()), 0);
  }
}

TEST(BindWeights, UnalignedTensorsAreCopied) {
  Changed golden("fp8");
  const auto aligned = golden.bind(false);
  const auto unaligned = golden.bind(true);
  ASSERT_TRUE(aligned.ok() && unaligned.ok());
  const AttentionWeights& a = aligned->layers[0].self_attn;
  const AttentionWeights& b = unaligned->layers[0].self_attn;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.indexer->weights_proj.data) % 2, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.q_a_proj.weight.scales) % 4, 0u);
  EXPECT_EQ(values(a.q_a_proj.weight), values(b.q_a_proj.weight));
  EXPECT_EQ(values(a.indexer->weights_proj), values(b.indexer->weights_proj));
  EXPECT_EQ(a.q_a_layernorm, b.q_a_layernorm);
  EXPECT_EQ(aligned->layers[1].moe->e_score_correction_bias,
            unaligned->layers[1].moe->e_score_correction_bias);
}

TEST(BindWeights, AllMismatchesStandInOneError) {
  Changed golden("tiny-5.2");
  golden.remove(
      [](const std::string& name) { return name == "model.norm.weight" || name == "lm_head.weight"; });
  golden.add("model.layers.0.extra", {1});
  golden["model.layers.1.input_layernorm.weight"].shape = {8, 8};
  golden["model.embed_tokens.weight"].dtype = "U32";
  EXPECT_EQ(golden.message(),
            kMismatch +
                "2 tensors are missing: model.norm.weight, lm_head.weight; 2 tensors are not as "
                "expected: model.embed_tokens.weight is stored as U32, expected F32, BF16, F16 or "
                "F8_E4M3, model.layers.1.input_layernorm.weight is [8, 8], expected [64]; 1 tensor "
                "is unknown: model.layers.0.extra");
}

TEST(BindWeights, LongListsAreCut) {
  Changed golden("tiny-5.2");
  golden.remove([](const std::string& name) { return contains(name, ".mlp.experts."); });
  const std::string message = golden.message();
  EXPECT_TRUE(contains(message, " tensors are missing: model.layers.3.mlp.experts.0.gate_proj.weight, "))
      << message;
  EXPECT_TRUE(contains(message, " and ")) << message;
  EXPECT_TRUE(message.ends_with(" more")) << message;
  EXPECT_LT(message.size(), 1000u);
}

TEST(BindWeights, OtherElementTypesAreRefused) {
  Changed golden("tiny-5.2");
  RawTensor& norm = golden["model.norm.weight"];
  norm.dtype = "F64";
  norm.bytes.resize(2 * norm.bytes.size());
  EXPECT_EQ(golden.message(),
            kMismatch +
                "1 tensor is not as expected: model.norm.weight is stored as F64, expected F32, BF16 or F16");
}

TEST(BindWeights, IndexersOfSharedLayersAreIgnored) {
  Changed golden("tiny-5.2");
  ASSERT_FALSE(golden.config.indexer_full[3]);
  golden.add("model.layers.3.self_attn.indexer.wk.weight", {1});
  golden.add("model.layers.3.self_attn.indexer.k_norm.bias", {2});
  golden.add("model.layers.3.self_attn.rotary_emb.inv_freq", {4});
  EXPECT_EQ(golden.message(), "");
  golden.remove([](const std::string& name) { return contains(name, "layers.2.self_attn.indexer.wk."); });
  EXPECT_EQ(golden.message(), kMismatch + "1 tensor is missing: model.layers.2.self_attn.indexer.wk.weight");
}

TEST(BindWeights, TiedEmbeddingsServeAsLmHead) {
  Changed golden("tiny-5.2");
  golden.config.tie_word_embeddings = true;
  const auto with_copy = golden.bind();
  ASSERT_TRUE(with_copy.ok()) << with_copy.error().message;
  EXPECT_EQ(with_copy->lm_head.data, with_copy->embed_tokens.data);
  golden.remove([](const std::string& name) { return name == "lm_head.weight"; });
  EXPECT_EQ(golden.message(), "");
}

TEST(BindWeights, BiasesAreThereIffTheConfigSaysSo) {
  Changed golden("tiny-5.1");
  golden.config.attention_bias = true;
  const std::string missing = golden.message();
  EXPECT_TRUE(contains(missing, "18 tensors are missing: model.layers.0.self_attn.q_a_proj.bias, "))
      << missing;
  for (int64_t i = 0; i < golden.config.num_hidden_layers; ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".self_attn.";
    golden.add(prefix + "q_a_proj.bias", {golden.config.q_lora_rank});
    golden.add(prefix + "kv_a_proj_with_mqa.bias", {golden.config.latent_width()});
    golden.add(prefix + "o_proj.bias", {golden.config.hidden_size});
  }
  const auto weights = golden.bind();
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(std::ssize(weights->layers[0].self_attn.o_proj.bias), golden.config.hidden_size);
  golden.config.attention_bias = false;
  EXPECT_TRUE(contains(golden.message(), "18 tensors are unknown"));
}

// ------------------------------------------------------------------------------------------- quantization

TEST(BindWeights, ScalesGoByTwoNames) {
  Changed golden("fp8");
  const auto inverse = golden.bind();
  ASSERT_TRUE(inverse.ok());
  const std::vector<float> expected = values(inverse->layers[0].self_attn.q_a_proj.weight);
  for (RawTensor& tensor : golden.tensors) {
    if (tensor.name.ends_with("_scale_inv")) tensor.name.erase(tensor.name.size() - 4);
  }
  const auto plain = golden.bind();
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(values(plain->layers[0].self_attn.q_a_proj.weight), expected);
}

TEST(BindWeights, ScalesMayStandInAnotherShard) {
  const Changed golden("fp8");
  std::vector<RawTensor> weights, scales;
  std::string map;
  for (const RawTensor& tensor : golden.tensors) {
    const bool is_scale = tensor.name.ends_with("_scale_inv");
    (is_scale ? scales : weights).push_back(tensor);
    map += (map.empty() ? "\"" : ",\"") + tensor.name + "\":\"" + (is_scale ? "two" : "one") + "\"";
  }
  const TemporaryDirectory directory;
  directory.write("one", raw_file(weights));
  directory.write("two", raw_file(scales));
  directory.write("model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
  const auto sharded = bind(golden.config, directory.path());
  const auto whole = golden.bind();
  ASSERT_TRUE(sharded.ok() && whole.ok());
  EXPECT_EQ(values(sharded->layers[1].moe->experts[2].down_proj),
            values(whole->layers[1].moe->experts[2].down_proj));
}

TEST(BindWeights, QuantizedMatricesNeedTheirScales) {
  const std::string weight = "model.layers.0.self_attn.kv_a_proj_with_mqa.weight";
  Changed golden("fp8");
  golden.remove([&](const std::string& name) { return name == weight + "_scale_inv"; });
  EXPECT_EQ(golden.message(), kMismatch + "1 tensor is not as expected: " + weight +
                                  " is F8_E4M3 and has none of " + weight + "_scale_inv and " + weight +
                                  "_scale, expected one");

  Changed both("fp8");
  RawTensor copy = both[weight + "_scale_inv"];
  copy.name = weight + "_scale";
  both.tensors.push_back(copy);
  EXPECT_TRUE(contains(both.message(), " has both of "));
}

TEST(BindWeights, ScalesCoverTheMatrixInBlocks) {
  const std::string scales =
      "model.layers.0.self_attn.kv_a_proj_with_mqa.weight_scale_inv";  // [152, 192]: 2 x 2
  Changed golden("fp8");
  golden[scales].shape = {1, 4};
  EXPECT_EQ(golden.message(),
            kMismatch + "1 tensor is not as expected: " + scales + " is [1, 4], expected [2, 2]");
  Changed bf16("fp8");
  bf16[scales].dtype = "BF16";
  bf16[scales].bytes.resize(8);
  EXPECT_EQ(bf16.message(),
            kMismatch + "1 tensor is not as expected: " + scales + " is stored as BF16, expected F32");
}

TEST(BindWeights, ScalesOfPlainMatricesAreUnknown) {
  Changed golden("tiny-5.2");
  golden.add("model.layers.0.self_attn.q_a_proj.weight_scale_inv", {1, 1});
  EXPECT_EQ(golden.message(),
            kMismatch + "1 tensor is unknown: model.layers.0.self_attn.q_a_proj.weight_scale_inv");
}

// ---------------------------------------------------------------------------------------------------- MTP

TEST(BindWeights, TheMtpLayerIsOptionalAsAWhole) {
  const std::string prefix = "model.layers.5.";
  Changed golden("mtp");
  const auto weights = golden.bind();
  ASSERT_TRUE(weights.ok() && weights->mtp);
  EXPECT_TRUE(weights->mtp->layer.self_attn.indexer.has_value());
  EXPECT_TRUE(weights->mtp->layer.moe.has_value());
  EXPECT_EQ(weights->mtp->eh_proj.cols, 2 * golden.config.hidden_size);

  golden.add(prefix + "embed_tokens.weight", {1});  // copies of the main model's
  golden.add(prefix + "shared_head.head.weight", {1});
  EXPECT_EQ(golden.message(), "");

  golden.config.num_nextn_predict_layers = 0;
  const auto off = golden.bind();
  ASSERT_TRUE(off.ok()) << off.error().message;
  EXPECT_FALSE(off->mtp.has_value());

  golden.config.num_nextn_predict_layers = 1;
  golden.remove([&](const std::string& name) { return name == prefix + "hnorm.weight"; });
  EXPECT_EQ(golden.message(), kMismatch + "1 tensor is missing: " + prefix + "hnorm.weight");

  golden.remove([&](const std::string& name) { return name.starts_with(prefix); });
  const auto without = golden.bind();
  ASSERT_TRUE(without.ok()) << without.error().message;
  EXPECT_FALSE(without->mtp.has_value());
}

TEST(BindWeights, FurtherLayersAreNotTakenForAnMtpLayer) {
  Changed golden("tiny-5.1");
  golden.config.num_hidden_layers = 5;
  golden.config.indexer_full.resize(5);
  golden.config.mlp_sparse.resize(5);
  EXPECT_TRUE(contains(golden.message(), "tensors are unknown: model.layers.5.")) << golden.message();
}

// ---------------------------------------------------------------------------------------- fused experts

TEST(BindWeights, FusedExpertsEqualSeparateOnes) {
  Changed golden("odd");
  const auto separate = golden.bind();
  ASSERT_TRUE(separate.ok());

  const Config& c = golden.config;
  for (int64_t layer = 1; layer < c.num_hidden_layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".mlp.experts.";
    RawTensor gate_up = {
        prefix + "gate_up_proj", "F32", {c.n_routed_experts, 2 * c.moe_intermediate_size, c.hidden_size}, ""};
    RawTensor down = {
        prefix + "down_proj", "F32", {c.n_routed_experts, c.hidden_size, c.moe_intermediate_size}, ""};
    for (int64_t e = 0; e < c.n_routed_experts; ++e) {
      const std::string expert = prefix + std::to_string(e) + ".";
      gate_up.bytes += golden[expert + "gate_proj.weight"].bytes + golden[expert + "up_proj.weight"].bytes;
      down.bytes += golden[expert + "down_proj.weight"].bytes;
    }
    golden.remove([&](const std::string& name) { return name.starts_with(prefix); });
    golden.tensors.push_back(gate_up);
    golden.tensors.push_back(down);
  }
  const auto fused = golden.bind();
  ASSERT_TRUE(fused.ok()) << fused.error().message;
  for (size_t e = 0; e < static_cast<size_t>(c.n_routed_experts); ++e) {
    const MlpWeights& a = separate->layers[4].moe->experts[e];
    const MlpWeights& b = fused->layers[4].moe->experts[e];
    EXPECT_EQ(values(a.gate_proj), values(b.gate_proj));
    EXPECT_EQ(values(a.up_proj), values(b.up_proj));
    EXPECT_EQ(values(a.down_proj), values(b.down_proj));
  }

  golden["model.layers.1.mlp.experts.down_proj"].shape = {c.n_routed_experts * c.hidden_size,
                                                          c.moe_intermediate_size};
  EXPECT_EQ(golden.message(),
            kMismatch +
                "1 tensor is not as expected: model.layers.1.mlp.experts.down_proj is [720, 28], "
                "expected [10, 72, 28]");
}

// ------------------------------------------------------------------------------------------------- sizes

TEST(WeightBytes, AreThoseOfTheFile) {
  for (const char* name : {"tiny-5.1", "odd", "tiny-5.2"}) {  // f32 throughout
    const auto config = load_config(kGoldens / name);
    const auto weights = bind(*config, kGoldens / name);
    ASSERT_TRUE(weights.ok());
    const WeightBytes bytes = weight_bytes(*config, *weights);
    EXPECT_EQ(bytes.total(), Checkpoint::open(kGoldens / name).value()->total_bytes()) << name;
    const ParameterCount count = count_parameters(*config);
    EXPECT_EQ(bytes.total(), 4 * count.total()) << name;
    EXPECT_EQ(bytes.active_per_token, 4 * (count.active() + config->hidden_size))
        << name;  // and one embedding
  }
}

TEST(WeightBytes, CountScalesAndTheMtpLayer) {
  for (const char* name : {"tests/golden/data/fp8", "tests/golden/data/mtp", "models/pocket"}) {
    const auto config = load_config(kSource / name);
    const auto weights = bind(*config, kSource / name);
    ASSERT_TRUE(weights.ok());
    int64_t widened = 0;  // bf16 vectors are held as f32
    const auto checkpoint = Checkpoint::open(kSource / name).value();
    for (const auto& [tensor_name, tensor] : checkpoint->tensors()) {
      if (tensor->shape.size() == 1 && tensor->dtype == "BF16") widened += std::ssize(tensor->bytes);
    }
    const WeightBytes bytes = weight_bytes(*config, *weights);
    EXPECT_EQ(bytes.total() + bytes.mtp, checkpoint->total_bytes() + widened) << name;
  }
}

// What a configuration says beforehand is what the checkpoint turns out to hold.
TEST(WeightShapes, AreThoseOfCheckpoints) {
  const std::pair<const char*, DType> models[] = {
      {"tests/golden/data/tiny-5.1", DType::f32},
      {"tests/golden/data/tiny-5.2", DType::f32},
      {"tests/golden/data/odd", DType::f32},
      {"tests/golden/data/fp8", DType::fp8_e4m3},
      {"models/pocket", DType::bf16},
  };
  for (const auto& [name, dtype] : models) {
    const auto config = load_config(kSource / name);
    const auto bound = bind(*config, kSource / name);
    ASSERT_TRUE(bound.ok());
    EXPECT_EQ(config->stored_fp8, dtype == DType::fp8_e4m3) << name;
    const WeightBytes stored = weight_bytes(*config, *bound);
    const WeightBytes shaped = weight_bytes(*config, weight_shapes(*config, dtype));
    EXPECT_EQ(shaped.embed_tokens, stored.embed_tokens) << name;
    EXPECT_EQ(shaped.lm_head, stored.lm_head) << name;
    EXPECT_EQ(shaped.attention, stored.attention) << name;
    EXPECT_EQ(shaped.indexer, stored.indexer) << name;
    EXPECT_EQ(shaped.dense_mlp, stored.dense_mlp) << name;
    EXPECT_EQ(shaped.router, stored.router) << name;
    EXPECT_EQ(shaped.routed_experts, stored.routed_experts) << name;
    EXPECT_EQ(shaped.shared_experts, stored.shared_experts) << name;
    EXPECT_EQ(shaped.norms, stored.norms) << name;
    EXPECT_EQ(shaped.active_per_token, stored.active_per_token) << name;
    EXPECT_EQ(shaped.mtp, stored.mtp) << name;
  }
}

}  // namespace
}  // namespace indexshare
