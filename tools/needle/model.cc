#include "needle/model.h"

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "needle/haystack.h"
#include "needle/parameters.h"

namespace indexshare::needle {
namespace {

// A word is kBits signs, half of them positive: all words are of one length and of mean zero, so that norms
// scale every token alike, and two words differ in two signs at least.
constexpr int64_t kBits = 12;

constexpr int64_t kLayers = 4, kHeads = 2, kHidden = 64, kIntermediate = 8, kTopK = 64;
constexpr int64_t kQueryRank = 32, kLatent = 48;
constexpr int64_t kNope = 32, kRope = 16, kValue = 16;  // of a head
constexpr int64_t kIndex = kRope + kNope;               // of an index key, rope first

// With eight frequencies of this base, no sum of cosines over 2^20 distances comes nearer to its peak of 8,
// at distance 0, than the 7.52 of distance 1.
constexpr double kTheta = 1e6;

// The residual stream: what a token is; the words of its record's key, which layer 1 adds; the word that it
// has found, which layer 3 adds; and what makes the end as long as a token that has a word.
constexpr int64_t kRoleAt = 0, kWordAt = kRoles, kKeyAt = kWordAt + kBits;
constexpr int64_t kKeyBits = kKeyTokens * kBits;
constexpr int64_t kFoundAt = kKeyAt + kKeyBits, kFillAt = kFoundAt + kBits;
static_assert(kFillAt < kHidden);

// The latents of query and key hold the key and the role; that of the key goes on with the word.
constexpr int64_t kRoleLatent = kKeyBits, kWordLatent = kRoleLatent + kRoles;
static_assert(kWordLatent <= kQueryRank && kWordLatent <= kNope && kWordLatent + kBits <= kLatent);

constexpr double kRoleGain = 2;  // beside a key's signs: a wrong role costs as much as a wrong word

// What an RMS norm over n values multiplies by.
double norm_factor(double sum_of_squares, int64_t n) {
  return std::sqrt(static_cast<double>(n) / sum_of_squares);
}
double attention_scale() {
  return 1 / std::sqrt(static_cast<double>(kNope + kRope));
}

// The first kWords numbers of kBits bits of which half are set.
std::vector<uint32_t> make_words() {
  std::vector<uint32_t> words;
  for (uint32_t bits = 0; std::ssize(words) < kWords; ++bits) {
    if (std::popcount(bits) == kBits / 2) words.push_back(bits);
  }
  return words;
}

double word_sign(int64_t word, int64_t bit) {
  static const std::vector<uint32_t> kAll = make_words();
  return (kAll[static_cast<size_t>(word)] >> bit & 1u) != 0 ? 1 : -1;
}

std::string in_layer(int64_t layer, const char* name) {
  return fmt::format("model.layers.{}.{}.weight", layer, name);
}

// All parameters that the config asks for, and what every layer has in common: the latents.
void add_layer(ParameterSet& p, int64_t layer) {
  p.add(in_layer(layer, "input_layernorm"), {kHidden}, 1);
  p.add(in_layer(layer, "post_attention_layernorm"), {kHidden}, 1);
  p.add(in_layer(layer, "self_attn.q_a_layernorm"), {kQueryRank}, 1);
  p.add(in_layer(layer, "self_attn.kv_a_layernorm"), {kLatent}, 1);
  p.add(in_layer(layer, "self_attn.q_b_proj"), {kHeads * (kNope + kRope), kQueryRank});
  p.add(in_layer(layer, "self_attn.kv_b_proj"), {kHeads * (kNope + kValue), kLatent});
  p.add(in_layer(layer, "self_attn.o_proj"), {kHidden, kHeads * kValue});
  p.add(in_layer(layer, "mlp.gate_proj"), {kIntermediate, kHidden});  // the MLPs have nothing to do
  p.add(in_layer(layer, "mlp.up_proj"), {kIntermediate, kHidden});
  p.add(in_layer(layer, "mlp.down_proj"), {kHidden, kIntermediate});

  const std::string query = in_layer(layer, "self_attn.q_a_proj");
  const std::string key = in_layer(layer, "self_attn.kv_a_proj_with_mqa");
  p.add(query, {kQueryRank, kHidden});
  p.add(key, {kLatent + kRope, kHidden});
  for (int64_t i = 0; i < kKeyBits; ++i) {
    p.set(query, i, kKeyAt + i, 1);
    p.set(key, i, kKeyAt + i, 1);
  }
  for (int64_t i = 0; i < kBits; ++i) p.set(key, kWordLatent + i, kWordAt + i, 1);
  for (int64_t role = 0; role < kRoles; ++role) {
    p.set(query, kRoleLatent + role, kRoleAt + role, 1);
    p.set(key, kRoleLatent + role, kRoleAt + role, kRoleGain);
    // All tokens have the same rope key, which their position turns: (1, -1) in each pair.
    for (int64_t i = 0; i < kRope; ++i) p.set(key, kLatent + i, kRoleAt + role, i % 2 == 0 ? 1 : -1);
  }
}

void add_indexer(ParameterSet& p, int64_t layer) {
  p.add(in_layer(layer, "self_attn.indexer.wq_b"), {kIndex, kQueryRank});
  p.add(in_layer(layer, "self_attn.indexer.wk"), {kIndex, kHidden});
  p.add(in_layer(layer, "self_attn.indexer.k_norm"), {kIndex}, 1);
  p.add(fmt::format("model.layers.{}.self_attn.indexer.k_norm.bias", layer), {kIndex});
  const std::string weights = in_layer(layer, "self_attn.indexer.weights_proj");
  p.add(weights, {1, kHidden});
  for (int64_t role = 0; role < kRoles; ++role) p.set(weights, 0, kRoleAt + role, 1);
}

// Lets the rope part of a query, at `row` of a matrix over query latents, meet the rope key of the token
// `back` positions before, for tokens of one role.
void point_back(ParameterSet& p, const std::string& matrix, int64_t row, int64_t role, int64_t back,
                double gain) {
  for (int64_t pair = 0; pair < kRope / 2; ++pair) {
    const double frequency = std::pow(kTheta, -2.0 * static_cast<double>(pair) / kRope);
    const double angle = -static_cast<double>(back) * frequency;
    p.set(matrix, row + 2 * pair, kRoleLatent + role, gain * (std::cos(angle) + std::sin(angle)));
    p.set(matrix, row + 2 * pair + 1, kRoleLatent + role, gain * (std::sin(angle) - std::cos(angle)));
  }
}

void embed(ParameterSet& p) {
  const std::string table = "model.embed_tokens.weight";
  p.add(table, {kVocab, kHidden});
  for (int64_t role = 0; role < kEndRole; ++role) {
    for (int64_t word = 0; word < kWords; ++word) {
      const int32_t id = token_id(role, word);
      p.set(table, id, kRoleAt + role, 1);
      for (int64_t i = 0; i < kBits; ++i) p.set(table, id, kWordAt + i, word_sign(word, i));
    }
  }
  p.set(table, kEndToken, kRoleAt + kEndRole, 1);
  p.set(table, kEndToken, kFillAt, std::sqrt(static_cast<double>(kBits)));
}

// Layer 0. A token of a record looks back to the record's beginning, and takes what is near.
void index_by_position(ParameterSet& p) {
  const std::string query = in_layer(0, "self_attn.indexer.wq_b");
  const std::string key = in_layer(0, "self_attn.indexer.wk");
  for (int64_t role = 0; role < kRoles; ++role) {
    point_back(p, query, 0, role, role == kEndRole ? 0 : role, 1);
    for (int64_t i = 0; i < kRope; ++i) p.set(key, i, kRoleAt + role, i % 2 == 0 ? 1 : -1);
  }
}

// Layer 1. Head j copies the word of the record's token j into each token behind it.
void copy_key(ParameterSet& p) {
  const std::string query = in_layer(1, "self_attn.q_b_proj");
  const std::string values = in_layer(1, "self_attn.kv_b_proj");
  constexpr double kSharpness = 32;  // logits per cosine: the next best position is 15 behind
  const double unit = 2 * norm_factor(1, kQueryRank) * norm_factor(1 + kBits, kHidden) * attention_scale();
  const double word = norm_factor(kRoleGain * kRoleGain + kBits, kLatent);
  for (int64_t head = 0; head < kKeyTokens; ++head) {
    for (int64_t role = 0; role < kRoles; ++role) {
      const int64_t back = role == kEndRole ? 0 : std::max<int64_t>(0, role - head);
      point_back(p, query, head * (kNope + kRope) + kNope, role, back, kSharpness / unit);
    }
    for (int64_t i = 0; i < kBits; ++i) {
      p.set(values, head * (kNope + kValue) + kNope + i, kWordLatent + i, 1 / word);
      p.set(in_layer(1, "self_attn.o_proj"), kKeyAt + head * kBits + i, head * kValue + i, 1);
    }
  }
}

// A query for the tokens with the same key and the role that comes next, at `row` of a matrix over query
// latents; `end` is what any query gives for the end.
void ask_for_next(ParameterSet& p, const std::string& matrix, int64_t row, double gain, double end) {
  for (int64_t i = 0; i < kKeyBits; ++i) p.set(matrix, row + i, i, gain);
  for (int64_t role = kKeyTokens - 1; role + 1 < kEndRole; ++role) {
    p.set(matrix, row + kRoleLatent + role + 1, kRoleLatent + role, gain * kRoleGain);
  }
  for (int64_t role = 0; role < kRoles; ++role) {
    p.set(matrix, row + kRoleLatent + kEndRole, kRoleLatent + role, end);
  }
}

// Layer 2.
void index_by_content(ParameterSet& p) {
  const std::string key = in_layer(2, "self_attn.indexer.wk");
  ask_for_next(p, in_layer(2, "self_attn.indexer.wq_b"), kRope, 1, -kRoleGain);
  for (int64_t i = 0; i < kKeyBits; ++i) p.set(key, kRope + i, kKeyAt + i, 1);
  for (int64_t role = 0; role < kRoles; ++role) {
    p.set(key, kRope + kRoleLatent + role, kRoleAt + role, kRoleGain);
  }
}

// Layer 3. The first head copies the word of the token that was asked for.
void copy_word(ParameterSet& p) {
  const std::string keys_and_values = in_layer(3, "self_attn.kv_b_proj");
  constexpr double kSharpness = 3;        // logits per sign: the next best token is 12 behind
  constexpr double kEndBehind = 5;        // logits of an end behind what was asked for: 150 ends outweigh it
  constexpr int64_t kDecoy = kWords - 1;  // the word that an end seems to have
  const double query = norm_factor(1 + kKeyBits, kQueryRank);
  const double key = norm_factor(kRoleGain * kRoleGain + kKeyBits + kBits, kLatent);
  const double end_key = norm_factor(1, kLatent);  // its latent holds nothing but its role
  const double match = kSharpness * (kKeyBits + kRoleGain * kRoleGain);
  ask_for_next(p, in_layer(3, "self_attn.q_b_proj"), 0, kSharpness / (query * key * attention_scale()),
               (match - kEndBehind) / (query * end_key * attention_scale()));
  for (int64_t i = 0; i < kWordLatent; ++i) p.set(keys_and_values, i, i, 1);
  for (int64_t i = 0; i < kBits; ++i) {
    p.set(keys_and_values, kNope + i, kWordLatent + i, 1 / key);
    p.set(keys_and_values, kNope + i, kRoleLatent + kEndRole, word_sign(kDecoy, i) / end_key);
    p.set(in_layer(3, "self_attn.o_proj"), kFoundAt + i, i, 1);
  }
}

// A token is said by the role before its own, and by its word; the end, behind the last value, by that alone.
void speak(ParameterSet& p) {
  constexpr double kSign = 2, kRole = 1.5 * kSign * kBits;
  const std::string head = "lm_head.weight";
  p.add(head, {kVocab, kHidden});
  p.add("model.norm.weight", {kHidden}, 1);
  for (int64_t role = kKeyTokens; role < kEndRole; ++role) {
    for (int64_t word = 0; word < kWords; ++word) {
      const int32_t id = token_id(role, word);
      p.set(head, id, kRoleAt + role - 1, kRole);
      for (int64_t i = 0; i < kBits; ++i) p.set(head, id, kFoundAt + i, kSign * word_sign(word, i));
    }
  }
  p.set(head, kEndToken, kRoleAt + kEndRole - 1, kRole);
}

std::string config_text() {
  const Json config = {{"architectures", Json::array({"GlmMoeDsaForCausalLM"})},
                       {"model_type", "glm_moe_dsa"},
                       {"dtype", "bfloat16"},
                       {"vocab_size", kVocab},
                       {"hidden_size", kHidden},
                       {"intermediate_size", kIntermediate},
                       {"num_hidden_layers", kLayers},
                       {"mlp_layer_types", {"dense", "dense", "dense", "dense"}},
                       {"num_attention_heads", kHeads},
                       {"num_key_value_heads", kHeads},
                       {"q_lora_rank", kQueryRank},
                       {"kv_lora_rank", kLatent},
                       {"qk_nope_head_dim", kNope},
                       {"qk_rope_head_dim", kRope},
                       {"v_head_dim", kValue},
                       {"index_n_heads", 1},
                       {"index_head_dim", kIndex},
                       {"index_topk", kTopK},
                       {"indexer_types", {"full", "shared", "full", "shared"}},
                       {"rope_parameters", {{"rope_theta", kTheta}, {"rope_type", "default"}}},
                       {"max_position_embeddings", kPositions},
                       {"tie_word_embeddings", false},
                       {"eos_token_id", kEndToken}};
  return dump_json(config, 2) + "\n";
}

}  // namespace

Result<void> write_model(const std::filesystem::path& directory) {
  ParameterSet parameters;
  embed(parameters);
  for (int64_t layer = 0; layer < kLayers; ++layer) add_layer(parameters, layer);
  add_indexer(parameters, 0);
  add_indexer(parameters, 2);
  index_by_position(parameters);
  copy_key(parameters);
  index_by_content(parameters);
  copy_word(parameters);
  speak(parameters);

  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return make_error("{}: cannot be made: {}", directory.string(), error.message());
  RETURN_IF_ERROR(write_file(directory / "config.json", config_text()));
  return parameters.write(directory / "model.safetensors");
}

}  // namespace indexshare::needle
