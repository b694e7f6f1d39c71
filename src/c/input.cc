#include "c/input.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "c/status.h"

namespace indexshare::c {
namespace {

// The sizes of version 0.1, than which none is smaller, and one above which a size was never written.
constexpr size_t kSmallestOptions = 88;
constexpr size_t kSmallestRequest = 176;
constexpr size_t kLargestStruct = 1 << 16;

Result<void> check_size(size_t size, size_t smallest, const char* name) {
  if (size < smallest || size > kLargestStruct) {
    return make_error("the size of {} is {}, expected what indexshare_{}_init() sets, at least {}", name,
                      size, name, smallest);
  }
  return {};
}

// Sets what this version knows of a struct, and all that a later one does to zero.
template <typename T>
Result<void> init(T* given, size_t size, size_t smallest, T value, const char* name) {
  static_assert(std::is_trivially_copyable_v<T>);
  RETURN_IF_ERROR(check_given(given, name));
  RETURN_IF_ERROR(check_size(size, smallest, name));
  value.struct_size = size;
  std::memset(given, 0, size);
  std::memcpy(given, &value, std::min(size, sizeof(T)));
  return {};
}

template <typename T>
Result<T> read(const T* given, size_t smallest, const char* name) {
  RETURN_IF_ERROR(check_given(given, name));
  size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  RETURN_IF_ERROR(check_size(size, smallest, name));
  const char* bytes = reinterpret_cast<const char*>(given);
  if (size > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + size, [](char byte) { return byte != 0; })) {
    return make_error(ErrorCode::unsupported, "{} sets a field that this version, {}, does not know", name,
                      INDEXSHARE_VERSION);
  }
  T known{};
  std::memcpy(&known, given, std::min(size, sizeof(T)));
  return known;
}

Result<std::optional<FloatType>> float_type(int32_t value, const char* name) {
  switch (value) {
    case INDEXSHARE_FLOAT_DEFAULT: return std::optional<FloatType>();
    case INDEXSHARE_FLOAT_F32: return std::optional(FloatType::f32);
    case INDEXSHARE_FLOAT_BF16: return std::optional(FloatType::bf16);
    default: return make_error("{} is {}, expected 0 (default), 1 (f32) or 2 (bf16)", name, value);
  }
}

int32_t to_c(std::optional<FloatType> type) {
  if (!type) return INDEXSHARE_FLOAT_DEFAULT;
  return *type == FloatType::f32 ? INDEXSHARE_FLOAT_F32 : INDEXSHARE_FLOAT_BF16;
}

Result<IndexKeys> index_keys(int32_t value) {
  switch (value) {
    case INDEXSHARE_KEYS_PLAIN: return IndexKeys::plain;
    case INDEXSHARE_KEYS_INT8: return IndexKeys::int8;
    case INDEXSHARE_KEYS_SCREENED: return IndexKeys::screened;
    default: return make_error("index_keys is {}, expected 0 (plain), 1 (int8) or 2 (screened)", value);
  }
}

int32_t to_c(IndexKeys keys) {
  switch (keys) {
    case IndexKeys::plain: return INDEXSHARE_KEYS_PLAIN;
    case IndexKeys::int8: return INDEXSHARE_KEYS_INT8;
    case IndexKeys::screened: return INDEXSHARE_KEYS_SCREENED;
  }
  return INDEXSHARE_KEYS_PLAIN;
}

Result<bool> flag(int32_t value, const char* name) {
  if (value != 0 && value != 1) return make_error("{} is {}, expected 0 or 1", name, value);
  return value == 1;
}

template <typename T>
Result<std::span<const T>> array(const T* items, size_t count, const char* name) {
  if (items == nullptr && count > 0) return make_error("{} is NULL, expected {} of them", name, count);
  return std::span<const T>(items, count);
}

// -1 in C: none.
template <typename T>
std::optional<T> optional(T value) {
  return value == -1 ? std::nullopt : std::optional<T>(value);
}

}  // namespace

indexshare_options to_c(const EngineOptions& options) {
  indexshare_options result{};
  result.struct_size = sizeof(result);
  result.context = options.context;
  result.cache_bytes = options.cache_bytes;
  result.ram_bytes = options.ram_bytes;
  result.chunk = options.chunk;
  result.max_running = options.max_running;
  result.max_waiting = options.max_waiting;
  result.latent_norm_eps = options.latent_norm_eps;
  result.threads = options.threads;
  result.numa_nodes = options.numa_nodes;
  result.compute = to_c(options.compute);
  result.cache_dtype = to_c(options.cache_dtype);
  result.index_keys = to_c(options.index_keys);
  result.reuse_prefixes = options.reuse_prefixes ? 1 : 0;
  return result;
}

Result<void> init_options(indexshare_options* options, size_t size) {
  return init(options, size, kSmallestOptions, to_c(EngineOptions()), "options");
}

Result<EngineOptions> read_options(const indexshare_options* given) {
  EngineOptions options;
  if (given == nullptr) return options;
  ASSIGN_OR_RETURN(const indexshare_options known, read(given, kSmallestOptions, "options"));
  ASSIGN_OR_RETURN(options.compute, float_type(known.compute, "compute"));
  ASSIGN_OR_RETURN(options.cache_dtype, float_type(known.cache_dtype, "cache_dtype"));
  ASSIGN_OR_RETURN(options.index_keys, index_keys(known.index_keys));
  ASSIGN_OR_RETURN(options.reuse_prefixes, flag(known.reuse_prefixes, "reuse_prefixes"));
  options.context = known.context;
  options.cache_bytes = known.cache_bytes;
  options.ram_bytes = known.ram_bytes;
  options.chunk = known.chunk;
  options.max_running = known.max_running;
  options.max_waiting = known.max_waiting;
  options.latent_norm_eps = static_cast<float>(known.latent_norm_eps);
  options.threads = known.threads;
  options.numa_nodes = known.numa_nodes;
  return options;
}

Result<void> init_request(const GenerationRequest& defaults, indexshare_request* request, size_t size) {
  const SamplingParams& sampling = defaults.sampling;
  indexshare_request result{};
  result.max_tokens = defaults.max_tokens.value_or(-1);
  result.seed = sampling.seed;
  result.temperature = sampling.temperature;
  result.top_p = sampling.top_p;
  result.min_p = sampling.min_p;
  result.repetition_penalty = sampling.repetition_penalty;
  result.frequency_penalty = sampling.frequency_penalty;
  result.presence_penalty = sampling.presence_penalty;
  result.top_k = sampling.top_k;
  result.min_tokens = sampling.min_tokens;
  result.logprobs = sampling.logprobs.value_or(-1);
  result.prompt_logprobs = defaults.prompt_logprobs.value_or(-1);
  return init(request, size, kSmallestRequest, result, "request");
}

Result<indexshare_request> read_struct(const indexshare_request* given) {
  return read(given, kSmallestRequest, "request");
}

Result<GenerationRequest> read_request(const indexshare_request& given, int64_t prompt_limit) {
  GenerationRequest request;
  if (given.prompt_count > static_cast<size_t>(prompt_limit)) {
    return make_error("the prompt has {} tokens, the context holds {}", given.prompt_count, prompt_limit);
  }
  ASSIGN_OR_RETURN(const auto prompt, read_ids(given.prompt, given.prompt_count, "prompt"));
  request.prompt.assign(prompt.begin(), prompt.end());
  ASSIGN_OR_RETURN(const auto stop_ids, read_ids(given.stop_ids, given.stop_id_count, "stop_ids"));
  request.stop_ids.assign(stop_ids.begin(), stop_ids.end());
  ASSIGN_OR_RETURN(const auto stops, array(given.stop, given.stop_count, "stop"));
  for (const char* stop : stops) {
    RETURN_IF_ERROR(check_given(stop, "a text of stop"));
    request.stop.emplace_back(stop);
  }
  ASSIGN_OR_RETURN(const auto biases, array(given.logit_bias, given.logit_bias_count, "logit_bias"));
  for (const auto& [id, bias] : biases) request.sampling.logit_bias.emplace_back(id, bias);
  ASSIGN_OR_RETURN(request.ignore_eos, flag(given.ignore_eos, "ignore_eos"));
  ASSIGN_OR_RETURN(request.include_stop, flag(given.include_stop, "include_stop"));
  ASSIGN_OR_RETURN(request.whole_text, flag(given.whole_text, "whole_text"));
  request.max_tokens = optional(given.max_tokens);
  request.prompt_logprobs = optional(given.prompt_logprobs);
  request.priority = given.priority;
  request.timeout_seconds = given.timeout_seconds;
  SamplingParams& sampling = request.sampling;
  sampling.seed = given.seed;
  sampling.temperature = given.temperature;
  sampling.top_p = given.top_p;
  sampling.min_p = given.min_p;
  sampling.repetition_penalty = given.repetition_penalty;
  sampling.frequency_penalty = given.frequency_penalty;
  sampling.presence_penalty = given.presence_penalty;
  sampling.top_k = given.top_k;
  sampling.min_tokens = given.min_tokens;
  sampling.logprobs = optional(given.logprobs);
  return request;
}

Result<std::span<const int32_t>> read_ids(const int32_t* ids, size_t count, const char* name) {
  return array(ids, count, name);
}

}  // namespace indexshare::c
