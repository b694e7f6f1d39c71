// indexshare inspect: what a model is, from its files alone.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/bind_weights.h"
#include "checkpoint/checkpoint.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/units.h"
#include "model/config.h"
#include "model/generation_config.h"
#include "model/model.h"
#include "model/parameters.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace indexshare::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string model;
  bool json = false;
};

// What a model's files say; of a lone config.json only the first part.
struct Facts {
  Config config;
  ParameterCount parameters;
  std::optional<GenerationConfig> generation;
  std::optional<Tokenizer> tokenizer;
  bool has_template = false;
  std::shared_ptr<const Checkpoint> checkpoint;
  WeightBytes bytes;
  bool has_mtp_weights = false;
};

Result<Facts> collect(const fs::path& model) {
  Facts facts;
  ASSIGN_OR_RETURN(facts.config, load_config(model));
  facts.parameters = count_parameters(facts.config);
  if (std::error_code ignored; !fs::is_directory(model, ignored)) return facts;
  ASSIGN_OR_RETURN(facts.generation, load_generation_config(model, facts.config));
  if (fs::exists(model / "tokenizer.json")) {
    ASSIGN_OR_RETURN(facts.tokenizer, Tokenizer::load(model / "tokenizer.json"));
  }
  ASSIGN_OR_RETURN(const std::optional<ChatTemplate> chat_template, load_chat_template(model));
  facts.has_template = chat_template.has_value();
  if (fs::exists(model / "model.safetensors") || fs::exists(model / "model.safetensors.index.json")) {
    ASSIGN_OR_RETURN(facts.checkpoint, Checkpoint::open(model));
    ASSIGN_OR_RETURN(const Weights weights, bind_weights(facts.config, facts.checkpoint));
    facts.bytes = weight_bytes(facts.config, weights);
    facts.has_mtp_weights = weights.mtp.has_value();
  }
  return facts;
}

// "F F FSSS F": each group is a full layer and the shared ones that read its selection.
std::string grouped(const Config& config) {
  std::string text;
  for (size_t i = 0; i < config.indexer_full.size(); ++i) {
    if (config.indexer_full[i] && i > 0) text += ' ';
    text += config.indexer_full[i] ? 'F' : 'S';
  }
  return text;
}

int64_t sparse_layers(const Config& config) {
  return std::count(config.mlp_sparse.begin(), config.mlp_sparse.end(), true);
}

std::string count_text(int64_t count) {
  constexpr std::array kUnits = {"", " thousand", " million", " billion"};
  auto value = static_cast<double>(count);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{}", count) : fmt::format("{:.4g}{}", value, kUnits[unit]);
}

// A report of named lines; long values go on below.
class Report {
 public:
  void add(std::string_view name, std::string_view value) {
    while (true) {
      const size_t cut = value.size() <= kWidth ? value.size() : value.rfind(' ', kWidth);
      text_ += fmt::format("{:<12}  {}\n", name, value.substr(0, cut));
      if (cut >= value.size()) return;
      value.remove_prefix(cut + 1);
      name = "";
    }
  }
  const std::string& text() const { return text_; }

 private:
  static constexpr size_t kWidth = 86;
  std::string text_;
};

void add_architecture(const Config& c, Report& report) {
  const int64_t sparse = sparse_layers(c);
  report.add("layers", fmt::format("{} ({} dense, {} with experts){}", c.num_hidden_layers,
                                   c.num_hidden_layers - sparse, sparse,
                                   c.num_nextn_predict_layers > 0 ? ", and an MTP layer" : ""));
  report.add("widths", fmt::format("hidden {}, vocabulary {}, dense MLP {}, expert {}", c.hidden_size,
                                   c.vocab_size, c.intermediate_size, c.moe_intermediate_size));
  report.add("attention",
             fmt::format("MLA, {} heads: latent {} + rope {} cached, nope {}, value {}, query latent {}",
                         c.num_attention_heads, c.kv_lora_rank, c.qk_rope_head_dim, c.qk_nope_head_dim,
                         c.v_head_dim, c.q_lora_rank));
  if (sparse > 0) {
    report.add("experts",
               fmt::format("{}, of which {} serve a token, and {} shared{}", c.n_routed_experts,
                           c.num_experts_per_tok, c.n_shared_experts,
                           c.n_group > 1 ? fmt::format("; {} of {} groups", c.topk_group, c.n_group)
                                         : std::string()));
  }
  report.add("context", fmt::format("{} tokens", c.max_position_embeddings));
}

void add_index(const Config& c, Report& report) {
  const int64_t full = c.full_layers();
  report.add("indexer", fmt::format("{} heads of {}, selects {} tokens", c.index_n_heads, c.index_head_dim,
                                    c.index_topk));
  report.add("schedule", grouped(c));
  report.add("", fmt::format("{} full (F: build the index), {} shared (S: read the one before)", full,
                             c.num_hidden_layers - full));
  report.add("in force",
             fmt::format("sparse attention with {}: beyond {} tokens of context each token attends to the "
                         "{} that the index selects; up to there to all",
                         full < c.num_hidden_layers ? "IndexShare" : "an index on every layer", c.index_topk,
                         c.index_topk));
}

void add_sizes(const Facts& facts, Report& report) {
  const ParameterCount& p = facts.parameters;
  report.add("parameters",
             fmt::format("{} in all, {} active per token{}", count_text(p.total()), count_text(p.active()),
                         p.mtp > 0 ? fmt::format("; MTP layer {}", count_text(p.mtp)) : ""));
  report.add(
      "", fmt::format(
              "attention {}, indexer {}, dense MLP {}, router {}, routed experts {}, shared experts {}, "
              "embedding {}, head {}{}, norms {}",
              count_text(p.attention), count_text(p.indexer), count_text(p.dense_mlp), count_text(p.router),
              count_text(p.routed_experts), count_text(p.shared_experts), count_text(p.embed_tokens),
              count_text(p.lm_head), p.tied > 0 ? " (tied)" : "", count_text(p.norms)));
  if (facts.checkpoint) {
    std::string dtypes;
    for (const auto& [dtype, bytes] : facts.checkpoint->bytes_by_dtype()) {
      dtypes += fmt::format("{}{} {}", dtypes.empty() ? "" : ", ", dtype, bytes_text(bytes));
    }
    const int64_t shards = facts.checkpoint->shards();
    report.add("weights",
               fmt::format("{} in {} file{} ({}), of which {} are read per token",
                           bytes_text(facts.checkpoint->total_bytes()), shards, shards == 1 ? "" : "s",
                           dtypes, bytes_text(facts.bytes.active_per_token)));
  } else {
    report.add("weights", "none here");
  }
  for (const DType dtype : {DType::bf16, DType::f32}) {
    const CacheLayout cache = cache_layout(facts.config, dtype);
    const int64_t bytes = cache.latent_bytes_per_token() + cache.index_bytes_per_token();
    report.add(dtype == DType::bf16 ? "cache" : "",
               fmt::format("{} bytes per token in {} (latent {}, index {}), {} at the full context", bytes,
                           dtype_name(dtype), cache.latent_bytes_per_token(), cache.index_bytes_per_token(),
                           bytes_text(bytes * facts.config.max_position_embeddings)));
  }
}

std::string token_text(const Facts& facts, int32_t id) {
  return facts.tokenizer ? fmt::format("{} {}", id, facts.tokenizer->token_bytes(id)) : fmt::format("{}", id);
}

std::vector<int32_t> special_ids(const Tokenizer& tokenizer) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.is_special(id)) ids.push_back(id);
  }
  return ids;
}

void add_text(const Facts& facts, Report& report) {
  if (facts.tokenizer) {
    const std::vector<int32_t> special = special_ids(*facts.tokenizer);
    report.add("tokenizer",
               fmt::format("{} tokens, {} of them special", facts.tokenizer->vocab_size(), special.size()));
    std::string list;
    for (const int32_t id : special)
      list += fmt::format("{}{}", list.empty() ? "" : ", ", token_text(facts, id));
    if (!list.empty()) report.add("", list);
  } else {
    report.add("tokenizer", "none here");
  }
  report.add("template", facts.has_template ? "yes" : "none here (a base model: use run --raw)");
  if (facts.generation) {
    std::string stops;
    for (const int32_t id : facts.generation->eos_token_ids) {
      stops += fmt::format("{}{}", stops.empty() ? "" : ", ", token_text(facts, id));
    }
    report.add("ends with", stops);
    report.add("sampling", fmt::format("temperature {}, top_p {}, top_k {}", facts.generation->temperature,
                                       facts.generation->top_p, facts.generation->top_k));
  }
}

std::string report_text(const Facts& facts) {
  Report report;
  add_architecture(facts.config, report);
  add_index(facts.config, report);
  add_sizes(facts, report);
  add_text(facts, report);
  return report.text();
}

Json cache_json(const Config& config, DType dtype) {
  const CacheLayout cache = cache_layout(config, dtype);
  return {{"latent", cache.latent_bytes_per_token()}, {"index", cache.index_bytes_per_token()}};
}

Json parameters_json(const ParameterCount& p) {
  return {{"total", p.total()},
          {"active", p.active()},
          {"attention", p.attention},
          {"indexer", p.indexer},
          {"dense_mlp", p.dense_mlp},
          {"router", p.router},
          {"routed_experts", p.routed_experts},
          {"active_experts", p.active_experts},
          {"shared_experts", p.shared_experts},
          {"embed_tokens", p.embed_tokens},
          {"lm_head", p.lm_head},
          {"tied", p.tied},
          {"norms", p.norms},
          {"mtp", p.mtp}};
}

Json architecture_json(const Config& c) {
  return {{"num_hidden_layers", c.num_hidden_layers},
          {"num_nextn_predict_layers", c.num_nextn_predict_layers},
          {"expert_layers", sparse_layers(c)},
          {"hidden_size", c.hidden_size},
          {"vocab_size", c.vocab_size},
          {"num_attention_heads", c.num_attention_heads},
          {"kv_lora_rank", c.kv_lora_rank},
          {"q_lora_rank", c.q_lora_rank},
          {"qk_nope_head_dim", c.qk_nope_head_dim},
          {"qk_rope_head_dim", c.qk_rope_head_dim},
          {"v_head_dim", c.v_head_dim},
          {"n_routed_experts", c.n_routed_experts},
          {"num_experts_per_tok", c.num_experts_per_tok},
          {"n_shared_experts", c.n_shared_experts},
          {"index_n_heads", c.index_n_heads},
          {"index_head_dim", c.index_head_dim},
          {"index_topk", c.index_topk},
          {"max_position_embeddings", c.max_position_embeddings}};
}

Json report_json(const Facts& facts) {
  const Config& c = facts.config;
  Json json = {
      {"architecture", architecture_json(c)},
      {"schedule", c.schedule()},
      {"full_layers", c.full_layers()},
      {"parameters", parameters_json(facts.parameters)},
      {"cache_bytes_per_token", {{"bf16", cache_json(c, DType::bf16)}, {"f32", cache_json(c, DType::f32)}}},
      {"weights", nullptr},
      {"tokenizer", nullptr},
      {"chat_template", facts.has_template},
      {"eos_token_ids", facts.generation ? facts.generation->eos_token_ids : c.eos_token_ids}};
  if (facts.checkpoint) {
    Json dtypes = Json::object();
    for (const auto& [dtype, bytes] : facts.checkpoint->bytes_by_dtype()) dtypes[std::string(dtype)] = bytes;
    json["weights"] = {{"bytes", facts.checkpoint->total_bytes()},
                       {"bytes_by_dtype", std::move(dtypes)},
                       {"bytes_read_per_token", facts.bytes.active_per_token},
                       {"files", facts.checkpoint->shards()},
                       {"mtp", facts.has_mtp_weights}};
  }
  if (facts.tokenizer) {
    Json special = Json::object();
    for (const int32_t id : special_ids(*facts.tokenizer)) {
      special[std::string(facts.tokenizer->token_bytes(id))] = id;
    }
    json["tokenizer"] = {{"vocab_size", facts.tokenizer->vocab_size()},
                         {"special_tokens", std::move(special)}};
  }
  return json;
}

Result<ExitCode> run(const Options& options) {
  ASSIGN_OR_RETURN(const Facts facts, collect(options.model));
  return print(options.json ? dump_json(report_json(facts), 2) + "\n" : report_text(facts));
}

}  // namespace

Action add_inspect(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("MODEL", options->model, "directory of a model, or a config.json")
      ->required()
      ->type_name("");
  command.add_flag("--json", options->json, "print one JSON object");
  return [options] { return run(*options); };
}

}  // namespace indexshare::cli
