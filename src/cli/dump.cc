// indexshare dump: everything that a forward pass shows, into a safetensors file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <memory>

#include "base/error.h"
#include "checkpoint/safetensors_writer.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/spool_file.h"
#include "cli/token_file.h"
#include "engine/session.h"

namespace indexshare::cli {
namespace {

constexpr const char* kNames[] = {"logits", "topk", "hidden", "router_ids", "router_weights"};

struct Options {
  std::string model;
  std::string out;
  std::optional<std::vector<int32_t>> ids;
  std::optional<std::string> ids_file;
  std::optional<std::string> prompt;
  std::vector<std::string> only = {std::begin(kNames), std::end(kNames)};
  EngineOptions engine;

  bool wants(std::string_view name) const { return std::find(only.begin(), only.end(), name) != only.end(); }
};

void check(const Options& options) {
  const int sources =
      int{options.ids.has_value()} + int{options.ids_file.has_value()} + int{options.prompt.has_value()};
  if (sources != 1) refuse_usage("expected one of --ids, --ids-file and --prompt");
}

std::vector<std::string> parse_names(const char* flag, const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& name : CLI::detail::split(text, ',')) {
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) {
      refuse_value(flag, text,
                   fmt::format("names from {}, with commas between them", fmt::join(kNames, ", ")));
    }
    names.push_back(name);
  }
  return names;
}

Result<std::vector<int32_t>> read_ids(const Options& options) {
  if (options.ids) return *options.ids;
  return read_token_file(*options.ids_file);
}

// A tensor [layers, tokens, width] of 4-byte values. The tokens of all layers come chunk by chunk, so they
// are spooled.
struct LayerTensor {
  TensorDeclaration declaration;
  SpoolFile spool;

  int64_t bytes() const {
    const std::vector<int64_t>& shape = declaration.shape;
    return shape[0] * shape[1] * shape[2] * 4;
  }
};

// Where what the probe sees goes to.
class DumpProbe final : public Probe {
 public:
  /// Declares the wanted tensors of `tokens` tokens; their spools stand in `directory`.
  static Result<std::unique_ptr<DumpProbe>> create(const Config& config, const Options& options,
                                                   int64_t tokens, const std::filesystem::path& directory) {
    auto probe = std::unique_ptr<DumpProbe>(new DumpProbe(config));
    const auto declare = [&](const char* name, DType dtype, int64_t layers,
                             int64_t width) -> Result<LayerTensor*> {
      if (!options.wants(name)) return static_cast<LayerTensor*>(nullptr);
      ASSIGN_OR_RETURN(SpoolFile spool, SpoolFile::create(directory));
      probe->tensors_.push_back(
          {.declaration = {.name = name, .dtype = dtype, .shape = {layers, tokens, width}},
           .spool = std::move(spool)});
      return &probe->tensors_.back();
    };
    const int64_t sparse = std::count(config.mlp_sparse.begin(), config.mlp_sparse.end(), true);
    const int64_t experts = config.num_experts_per_tok;
    ASSIGN_OR_RETURN(probe->top_k_, declare("topk", DType::i32, config.full_layers(), config.index_topk));
    ASSIGN_OR_RETURN(probe->hidden_,
                     declare("hidden", DType::f32, config.num_hidden_layers + 2, config.hidden_size));
    ASSIGN_OR_RETURN(probe->router_ids_, declare("router_ids", DType::i32, sparse, experts));
    ASSIGN_OR_RETURN(probe->router_weights_, declare("router_weights", DType::f32, sparse, experts));
    return probe;
  }

  const std::deque<LayerTensor>& tensors() const { return tensors_; }

  /// The first failure of a spool.
  const Result<void>& status() const { return status_; }

  void hidden(int64_t stage, Tensor x) override {
    if (stage == 0) first_ = std::exchange(next_, next_ + x.rows);
    if (hidden_ == nullptr) return;
    values_.clear();
    for (int64_t t = 0; t < x.rows; ++t) values_.insert(values_.end(), x.row(t), x.row(t) + x.cols);
    spool<float>(hidden_, stage, values_);
  }

  void selection(int64_t layer, const Selection& selection) override {
    if (top_k_ == nullptr) return;
    const auto width = static_cast<size_t>(config_.index_topk);
    padded_.assign(static_cast<size_t>(next_ - first_) * width, -1);
    for (int64_t t = 0; t < next_ - first_; ++t) {
      std::copy(selection[t].begin(), selection[t].end(),
                padded_.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(t) * width));
    }
    const auto& full = config_.indexer_full;
    spool<int32_t>(top_k_, std::count(full.begin(), full.begin() + layer, true), padded_);
  }

  void routing(int64_t layer, const Routing& routing) override {
    const auto& sparse = config_.mlp_sparse;
    const int64_t place = std::count(sparse.begin(), sparse.begin() + layer, true);
    spool<int32_t>(router_ids_, place, routing.ids.span());
    spool<float>(router_weights_, place, routing.weights.span());
  }

 private:
  explicit DumpProbe(const Config& config) : config_(config) {}

  // The rows of the batch of layer number `place` of a tensor.
  template <typename T>
  void spool(LayerTensor* tensor, int64_t place, std::span<const T> values) {
    if (tensor == nullptr || !status_.ok()) return;
    const std::vector<int64_t>& shape = tensor->declaration.shape;
    const int64_t offset = (place * shape[1] + first_) * shape[2] * static_cast<int64_t>(sizeof(T));
    status_ = tensor->spool.write_at(offset, std::as_bytes(values));
  }

  const Config& config_;
  std::deque<LayerTensor> tensors_;  // a deque, as it is pointed into
  LayerTensor *top_k_ = nullptr, *hidden_ = nullptr, *router_ids_ = nullptr, *router_weights_ = nullptr;
  int64_t first_ = 0, next_ = 0;  // the tokens of the batch
  std::vector<float> values_;
  std::vector<int32_t> padded_;
  Result<void> status_;
};

std::string full_layers_text(const Config& config) {
  std::vector<size_t> layers;
  for (size_t i = 0; i < config.indexer_full.size(); ++i) {
    if (config.indexer_full[i]) layers.push_back(i);
  }
  return fmt::format("{}", fmt::join(layers, ","));
}

std::map<std::string, std::string> metadata(const ModelRunner& runner, const std::string& model) {
  const EngineOptions& options = runner.options();
  return {{"indexshare", INDEXSHARE_VERSION},
          {"model", model},
          {"schedule", runner.config().schedule()},
          {"full_layers", full_layers_text(runner.config())},
          {"compute", std::string(float_type_name(*options.compute))},
          {"cache_dtype", std::string(float_type_name(*options.cache_dtype))},
          {"latent_norm_eps", fmt::format("{}", options.latent_norm_eps)},
          {"chunk", std::to_string(options.chunk)},
          {"threads", std::to_string(options.threads)},
          {"kernels", std::string(runner.backend().isa())}};
}

// Runs the tokens and writes the file, tensor by tensor in the order of `declared`; logits come first and are
// written as they are computed.
Result<ExitCode> write_dump(ModelRunner& runner, const std::vector<int32_t>& ids, const Options& options,
                            std::vector<TensorDeclaration>& declared) {
  const Interrupt interrupt;
  const std::filesystem::path out = options.out;
  const auto directory = out.has_parent_path() ? out.parent_path() : std::filesystem::path(".");
  ASSIGN_OR_RETURN(const std::unique_ptr<DumpProbe> probe,
                   DumpProbe::create(runner.config(), options, std::ssize(ids), directory));
  const bool logits = options.wants("logits");
  if (logits) {
    declared.push_back(
        {.name = "logits", .dtype = DType::f32, .shape = {std::ssize(ids), runner.config().vocab_size}});
  }
  for (const LayerTensor& tensor : probe->tensors()) declared.push_back(tensor.declaration);
  ASSIGN_OR_RETURN(SafetensorsWriter writer,
                   SafetensorsWriter::create(out, declared, metadata(runner, options.model)));

  Session session(runner);
  ProgressLine line("running the model", "tokens");
  Result<void> written;
  const auto on_logits = [&](int64_t, Tensor rows) {
    if (written.ok()) {
      written = writer.write(std::as_bytes(std::span(rows.data, static_cast<size_t>(rows.rows * rows.cols))));
    }
  };
  const auto on_progress = [&](int64_t done, int64_t total) {
    line.update(done, total);
    return written.ok() && probe->status().ok() && !interrupt.requested();
  };
  ASSIGN_OR_RETURN(const int64_t ran, session.append(ids, logits ? LogitsFor::all : LogitsFor::none,
                                                     on_logits, on_progress, probe.get()));
  line.clear();
  RETURN_IF_ERROR(written);
  RETURN_IF_ERROR(probe->status());
  if (ran < std::ssize(ids)) return ExitCode::interrupted;
  for (const LayerTensor& tensor : probe->tensors()) {
    RETURN_IF_ERROR(tensor.spool.read_all(
        tensor.bytes(), [&](std::span<const std::byte> piece) { return writer.write(piece); }));
  }
  RETURN_IF_ERROR(writer.finish());
  return ExitCode::done;
}

Result<ExitCode> run(const Options& options) {
  std::vector<int32_t> ids;
  if (options.prompt) {
    RETURN_IF_ERROR(check_text(*options.prompt, "--prompt"));
  } else {
    ASSIGN_OR_RETURN(ids, read_ids(options));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelRunner> runner, load_runner(options.model, options.engine));
  if (options.prompt) {
    ASSIGN_OR_RETURN(ids, encode_plain(*runner, *options.prompt));
  }
  std::vector<TensorDeclaration> declared;
  ASSIGN_OR_RETURN(const ExitCode code, write_dump(*runner, ids, options, declared));
  if (code != ExitCode::done) {
    print_error(fmt::format("stopped: {} was not written\n", options.out));
    return code;
  }
  std::string text = fmt::format("{}: {} tokens\n", options.out, ids.size());
  for (const TensorDeclaration& tensor : declared) {
    text +=
        fmt::format("{:<15} {} [{}]\n", tensor.name, dtype_name(tensor.dtype), fmt::join(tensor.shape, ", "));
  }
  return print(text);
}

}  // namespace

Action add_dump(CLI::App& command) {
  auto options = std::make_shared<Options>();
  add_model(command, options->model);
  add_value(command, "--ids", options->ids, "1,2,3", "the tokens", parse_ids);
  command
      .add_option("--ids-file", options->ids_file,
                  "the tokens from a file of numbers, as tokenize prints them; -: the standard input")
      ->type_name("FILE");
  command.add_option("--prompt", options->prompt, "the tokens of this text, without the chat template")
      ->type_name("TEXT");
  command.add_option("--out", options->out, "the safetensors file to write")->required()->type_name("FILE");
  add_value(command, "--only", options->only, "NAMES", "write only these tensors, as in logits,topk",
            parse_names);
  add_engine_flags(command, options->engine);
  command.footer(
      "Tensors, S tokens:\n"
      "  logits [S, vocab] f32\n"
      "  topk [full layers, S, index_topk] i32: selected positions, ascending, then -1\n"
      "  hidden [layers + 2, S, hidden] f32: the embedding, the residual stream after each layer, the last "
      "norm\n"
      "  router_ids [sparse layers, S, experts per token] i32, ascending; router_weights, f32, beside them");
  command.callback([options] { check(*options); });
  return [options] { return run(*options); };
}

}  // namespace indexshare::cli
