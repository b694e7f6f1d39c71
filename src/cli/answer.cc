#include "cli/answer.h"

#include "base/error.h"
#include "cli/output.h"

namespace indexshare::cli {
namespace {

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kNormal = "\x1b[0m";

double per_second(int64_t count, double seconds) {
  return count > 0 && seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

int64_t run_prompt_tokens(const GenerationResult& result) {
  return result.prompt_tokens - result.cached_tokens;
}

// The first token comes out of the prompt's pass.
int64_t decode_steps(const GenerationResult& result) {
  return std::max<int64_t>(0, std::ssize(result.ids) - 1);
}

Json phase_json(int64_t tokens, double seconds, const Work& work) {
  Json parts = Json::object();
  for (int i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    parts[std::string(part_name(part))] = {{"ms", 1e3 * work.seconds(part)}, {"flops", work.flops(part)}};
  }
  return {{"ms", 1e3 * seconds},
          {"tokens", tokens},
          {"tokens_per_second", per_second(tokens, seconds)},
          {"parts", std::move(parts)}};
}

Json token_json(const Engine& engine, int32_t id, float logprob) {
  Json json = {{"id", id}};
  if (const auto bytes = engine.token_bytes(id); bytes.ok()) json["token"] = *bytes;
  json["logprob"] = logprob;
  return json;
}

Json logprobs_json(const Engine& engine, const GenerationResult& result) {
  Json list = Json::array();
  for (size_t i = 0; i < result.logprobs.size(); ++i) {
    Json token = token_json(engine, result.ids[i], result.logprobs[i].logprob);
    token["top"] = Json::array();
    for (const auto& [id, logprob] : result.logprobs[i].top)
      token["top"].push_back(token_json(engine, id, logprob));
    list.push_back(std::move(token));
  }
  return list;
}

}  // namespace

AnswerStream::AnswerStream(const Engine& engine)
    : ids_only_(!engine.info().has_tokenizer), terminal_(stdout_is_terminal()) {}

void AnswerStream::write(std::string_view text) {
  if (text.empty() || !status_.ok()) return;
  if (const auto printed = print(text); !printed.ok()) status_ = printed.error();
  empty_ = false;
  at_line_start_ = text.back() == '\n';
}

bool AnswerStream::show(const GeneratedPiece& piece) {
  if (ids_only_) {
    write(fmt::format("{}{}", empty_ ? "" : " ", piece.id));
  } else if (!piece.text.empty() && (terminal_ || !piece.reasoning)) {
    if (dimmed_ != piece.reasoning) {
      write(piece.reasoning ? std::string(kDim) : fmt::format("{}\n\n", kNormal));
      dimmed_ = piece.reasoning;
    }
    write(piece.text);
  }
  return status_.ok();
}

Result<void> AnswerStream::finish() {
  if (dimmed_) write(kNormal);
  if (!at_line_start_) write("\n");
  return status_;
}

std::string statistics_line(const GenerationResult& result) {
  const GenerationTimings& timings = result.timings;
  const double seconds = timings.prefill.total_seconds() + timings.decode.total_seconds();
  const auto flops = static_cast<double>(timings.prefill.total_flops() + timings.decode.total_flops());
  const double index_seconds = timings.prefill.seconds(Part::index) + timings.decode.seconds(Part::index);
  const auto index_flops =
      static_cast<double>(timings.prefill.flops(Part::index) + timings.decode.flops(Part::index));
  const int64_t prompt = run_prompt_tokens(result);
  const int64_t steps = decode_steps(result);
  std::string line = fmt::format("{} prompt tokens ({} cached) at {:.0f} tokens/s", result.prompt_tokens,
                                 result.cached_tokens, per_second(prompt, timings.prefill_seconds));
  line += fmt::format(", {} generated", result.ids.size());
  if (steps > 0) line += fmt::format(" at {:.1f} tokens/s", per_second(steps, timings.decode_seconds));
  if (seconds > 0 && flops > 0) {
    line += fmt::format("; index {:.1f} % of the time, {:.1f} % of the FLOPs", 100 * index_seconds / seconds,
                        100 * index_flops / flops);
  }
  return line;
}

Json answer_json(const Engine& engine, const GenerationRequest& request, const GenerationResult& result) {
  Json json = {{"text", result.text}, {"reasoning", result.reasoning}, {"ids", result.ids}};
  json["finish_reason"] = finish_reason_name(result.finish_reason);
  json["usage"] = {{"prompt_tokens", result.prompt_tokens},
                   {"completion_tokens", result.ids.size()},
                   {"reasoning_tokens", result.reasoning_tokens},
                   {"cached_tokens", result.cached_tokens}};
  json["seed"] = request.sampling.seed;
  const GenerationTimings& timings = result.timings;
  json["timings"] = {
      {"prefill", phase_json(run_prompt_tokens(result), timings.prefill_seconds, timings.prefill)},
      {"decode", phase_json(decode_steps(result), timings.decode_seconds, timings.decode)}};
  if (request.sampling.logprobs) json["logprobs"] = logprobs_json(engine, result);
  return json;
}

}  // namespace indexshare::cli
