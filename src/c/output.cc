#include "c/output.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "c/input.h"

namespace indexshare::c {
namespace {

constexpr bool same(indexshare_finish_reason in_c, FinishReason reason) {
  return static_cast<int>(in_c) == static_cast<int>(reason);
}
static_assert(same(INDEXSHARE_FINISH_STOP, FinishReason::stop) &&
              same(INDEXSHARE_FINISH_LENGTH, FinishReason::length) &&
              same(INDEXSHARE_FINISH_CANCELLED, FinishReason::cancelled) &&
              same(INDEXSHARE_FINISH_TIMEOUT, FinishReason::timeout));

Parts to_c(const Work& work) {
  Parts parts{};
  for (int i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    parts[static_cast<size_t>(i)] = {part_name(part).data(), work.seconds(part), work.flops(part)};
  }
  return parts;
}

void* allocate(size_t bytes) {
  void* memory = std::malloc(std::max<size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void Logprobs::assign(std::span<const TokenLogprobs> tokens) {
  top_.clear();
  tokens_.clear();
  for (const TokenLogprobs& token : tokens) {
    for (const auto& [id, logprob] : token.top) top_.push_back({id, logprob});
  }
  const indexshare_logprob* top = top_.data();
  for (const TokenLogprobs& token : tokens) {
    tokens_.push_back({token.logprob, token.rank, top, token.top.size()});
    top += token.top.size();
  }
}

const indexshare_piece* PieceView::show(const GeneratedPiece& piece) {
  piece_ = {piece.text.c_str(), piece.text.size(), piece.id, piece.reasoning ? 1 : 0, nullptr};
  if (piece.logprobs) {
    logprobs_.assign({&*piece.logprobs, 1});
    piece_.logprobs = logprobs_.data();
  }
  return &piece_;
}

OwnedResult::OwnedResult(GenerationResult result)
    : indexshare_result{},
      owned_(std::move(result)),
      prefill_parts_(to_c(owned_.timings.prefill)),
      decode_parts_(to_c(owned_.timings.decode)) {
  logprobs_.assign(owned_.logprobs);
  prompt_logprobs_.assign(owned_.prompt_logprobs);
  text = owned_.text.c_str();
  text_size = owned_.text.size();
  reasoning = owned_.reasoning.c_str();
  reasoning_size = owned_.reasoning.size();
  stop_text = owned_.stop_text.c_str();
  stop_text_size = owned_.stop_text.size();
  ids = owned_.ids.data();
  id_count = owned_.ids.size();
  logprobs = logprobs_.data();
  logprob_count = logprobs_.size();
  prompt_logprobs = prompt_logprobs_.data();
  prompt_logprob_count = prompt_logprobs_.size();
  finish_reason = static_cast<indexshare_finish_reason>(owned_.finish_reason);
  prompt_tokens = owned_.prompt_tokens;
  cached_tokens = owned_.cached_tokens;
  reasoning_tokens = owned_.reasoning_tokens;
  queue_seconds = owned_.timings.queue_seconds;
  prefill_seconds = owned_.timings.prefill_seconds;
  decode_seconds = owned_.timings.decode_seconds;
  prefill_parts = prefill_parts_.data();
  decode_parts = decode_parts_.data();
  part_count = kParts;
}

OwnedStatistics::OwnedStatistics(const EngineStatistics& statistics)
    : indexshare_statistics{}, parts_(to_c(statistics.work)) {
  running = statistics.running;
  waiting = statistics.waiting;
  submitted = statistics.submitted;
  finished = statistics.finished;
  failed = statistics.failed;
  cancelled = statistics.cancelled;
  preempted = statistics.preempted;
  prompt_tokens = statistics.prompt_tokens;
  cached_tokens = statistics.cached_tokens;
  generated_tokens = statistics.generated_tokens;
  steps = statistics.steps;
  step_tokens = statistics.step_tokens;
  pages_in_use = statistics.pages_in_use;
  pages_kept = statistics.pages_kept;
  page_bytes = statistics.page_bytes;
  page_tokens = statistics.page_tokens;
  cache_bytes = statistics.cache_bytes;
  cache_budget_bytes = statistics.cache_budget_bytes;
  parts = parts_.data();
  part_count = kParts;
}

OwnedInfo::OwnedInfo(const ModelInfo& info) : indexshare_info{}, options_(c::to_c(info.options)) {
  path = info.path.c_str();
  schedule = info.schedule.c_str();
  isa = info.isa.c_str();
  layers = info.layers;
  vocab_size = info.vocab_size;
  index_topk = info.index_topk;
  context = info.context;
  memory_bytes = info.memory_bytes;
  cache_bytes_per_token = info.cache_bytes_per_token;
  stop_ids = info.stop_ids.data();
  stop_id_count = info.stop_ids.size();
  bos_id = info.bos_id.value_or(-1);
  pad_id = info.pad_id.value_or(-1);
  has_tokenizer = info.has_tokenizer ? 1 : 0;
  has_chat_template = info.has_chat_template ? 1 : 0;
  options = &options_;
}

void give(std::string_view text, char** out, size_t* size) {
  *out = static_cast<char*>(allocate(text.size() + 1));
  *std::copy(text.begin(), text.end(), *out) = '\0';
  if (size != nullptr) *size = text.size();
}

void give(std::span<const int32_t> ids, int32_t** out, size_t* count) {
  *out = static_cast<int32_t*>(allocate(ids.size_bytes()));
  std::copy(ids.begin(), ids.end(), *out);
  *count = ids.size();
}

}  // namespace indexshare::c

void indexshare_free(void* memory) {
  std::free(memory);
}

void indexshare_result_free(indexshare_result* result) {
  delete static_cast<indexshare::c::OwnedResult*>(result);
}

void indexshare_statistics_free(indexshare_statistics* statistics) {
  delete static_cast<indexshare::c::OwnedStatistics*>(statistics);
}

const char* indexshare_finish_reason_name(indexshare_finish_reason reason) {
  if (reason < INDEXSHARE_FINISH_STOP || reason > INDEXSHARE_FINISH_TIMEOUT) return "";
  return indexshare::finish_reason_name(static_cast<indexshare::FinishReason>(reason)).data();
}
