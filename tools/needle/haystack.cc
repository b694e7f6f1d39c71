#include "needle/haystack.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "sample/counter_rng.h"

namespace indexshare::needle {

Record record(int64_t i) {
  // An odd factor permutes the keys, so that neighbours have nothing in common.
  constexpr int64_t kFactor = 127837;
  const int64_t key = i * kFactor % kRecords;
  const auto draw = philox4x32({static_cast<uint32_t>(i), 0u, 0u, 0u}, {0u, 0u});
  Record record{.key = {token_id(0, key / kWords), token_id(1, key % kWords)}, .value = {}};
  for (int64_t j = 0; j < kValueTokens; ++j) {
    const auto word = static_cast<int64_t>(draw[static_cast<size_t>(j)] % kWords);
    record.value[static_cast<size_t>(j)] = token_id(kKeyTokens + j, word);
  }
  return record;
}

std::vector<int32_t> haystack(int64_t tokens) {
  std::vector<int32_t> ids;
  ids.reserve(static_cast<size_t>(tokens + kRecordTokens));
  for (int64_t i = 0; std::ssize(ids) < tokens; ++i) {
    const Record next = record(i);
    ids.insert(ids.end(), next.key.begin(), next.key.end());
    ids.insert(ids.end(), next.value.begin(), next.value.end());
    ids.push_back(kEndToken);
  }
  ids.resize(static_cast<size_t>(tokens));
  return ids;
}

int64_t record_at_depth(int64_t tokens, int percent) {
  return (tokens / kRecordTokens - 1) * percent / 100;
}

Result<GenerationResult> ask(Engine& engine, const std::vector<int32_t>& haystack, const Record& record) {
  GenerationRequest request;
  request.prompt = haystack;
  request.prompt.insert(request.prompt.end(), record.key.begin(), record.key.end());
  request.sampling.temperature = 0;
  request.max_tokens = kValueTokens + 1;
  return engine.generate(std::move(request));
}

bool is_answer(std::span<const int32_t> ids, const Record& record) {
  return std::ssize(ids) == kValueTokens + 1 && ids.back() == kEndToken &&
         std::equal(record.value.begin(), record.value.end(), ids.begin());
}

}  // namespace indexshare::needle
