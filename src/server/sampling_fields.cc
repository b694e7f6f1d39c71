#include "server/sampling_fields.h"

#include <charconv>
#include <random>

#include "base/error.h"

namespace indexshare::server {
namespace {

enum Place : size_t {
  temperature,
  top_p,
  top_k,
  min_p,
  repetition_penalty,
  frequency_penalty,
  presence_penalty,
  logit_bias,
  seed,
  min_tokens,
  thinking_token_budget,
  stop,
  stop_token_ids,
  ignore_eos,
  include_stop,
  priority,
};

constexpr Field kFields[] = {
    {"temperature", "a number", "0: always the most probable token", 0, 1e6},
    {"top_p", "a number", "keep the fewest tokens that hold this share", 0, 1},
    {"top_k", "a whole number", "keep this many of the most probable tokens; 0 or -1: all", -1, kMaxCount},
    {"min_p", "a number", "keep tokens this probable, in shares of the most probable one", 0, 1},
    {"repetition_penalty", "a number", "above 1: less of what prompt and answer hold already", 1e-6, 1e6},
    {"frequency_penalty", "a number", "taken off a token's logit each time the answer had it", -kMaxPenalty,
     kMaxPenalty},
    {"presence_penalty", "a number", "taken off a token's logit once the answer had it", -kMaxPenalty,
     kMaxPenalty},
    {"logit_bias", "an object of token ids and numbers from -100 to 100", "added to the logits of tokens"},
    {"seed", "a whole number", "of the random choices; another one each time unless given"},
    {"min_tokens", "a whole number", "no stop before this many tokens are out", 0, kMaxCount},
    {"thinking_token_budget", "a whole number", "most tokens of reasoning: then it is closed", 0, kMaxCount},
    {"stop", "a text that is not empty, or a list of such texts", "the answer ends before one of these"},
    {"stop_token_ids", "a list of token ids", "the answer ends with one of these"},
    {"ignore_eos", "true or false", "go on where the model would end"},
    {"include_stop_str_in_output", "true or false", "the text of `stop` that was met is part of the answer"},
    {"priority", "a whole number", "higher goes before lower", -1e6, 1e6},
};

void read_logit_bias(FieldReader& fields, std::vector<std::pair<int32_t, float>>& biases) {
  const Field& field = kFields[logit_bias];
  const Json* object = fields.find(field.name);
  if (object == nullptr) return;
  if (!object->is_object()) return fields.refuse(field);
  for (const auto& [key, bias] : object->items()) {
    int32_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool is_id = error == std::errc() && end == key.data() + key.size() && id >= 0;
    if (!is_id || !bias.is_number() || !(std::abs(bias.get<float>()) <= kMaxLogitBias))
      return fields.refuse(field);
    biases.emplace_back(id, bias.get<float>());
  }
}

void read_ids(FieldReader& fields, const Field& field, std::vector<int32_t>& ids) {
  const Json* list = fields.find(field.name);
  if (list == nullptr) return;
  if (!list->is_array()) return fields.refuse(field);
  for (const Json& id : *list) {
    if (!is_token_id(id)) return fields.refuse(field);
    ids.push_back(id.get<int32_t>());
  }
}

}  // namespace

std::span<const Field> sampling_fields() {
  return kFields;
}

void read_sampling(FieldReader& fields, GenerationRequest& request) {
  SamplingParams& sampling = request.sampling;
  fields.read(kFields[temperature], sampling.temperature);
  fields.read(kFields[top_p], sampling.top_p);
  fields.read(kFields[top_k], sampling.top_k);
  fields.read(kFields[min_p], sampling.min_p);
  fields.read(kFields[repetition_penalty], sampling.repetition_penalty);
  fields.read(kFields[frequency_penalty], sampling.frequency_penalty);
  fields.read(kFields[presence_penalty], sampling.presence_penalty);
  read_logit_bias(fields, sampling.logit_bias);
  std::random_device random;
  sampling.seed = uint64_t{random()} << 32 | random();
  fields.read(kFields[seed], sampling.seed);
  fields.read(kFields[min_tokens], sampling.min_tokens);
  fields.read(kFields[thinking_token_budget], request.max_reasoning_tokens);
  fields.read(kFields[stop], request.stop);
  read_ids(fields, kFields[stop_token_ids], request.stop_ids);
  fields.read(kFields[ignore_eos], request.ignore_eos);
  fields.read(kFields[include_stop], request.include_stop);
  fields.read(kFields[priority], request.priority);
}

std::vector<GenerationRequest> copies(GenerationRequest request, int64_t count) {
  std::vector<GenerationRequest> requests(static_cast<size_t>(count), request);
  for (GenerationRequest& copy : requests) copy.sampling.seed = request.sampling.seed++;
  return requests;
}

}  // namespace indexshare::server
