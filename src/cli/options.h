// What commands have in common on the command line: values that are checked as they are read, and the groups
// of flags for the engine and for sampling.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/app.h"
#include "engine/model_runner.h"
#include "indexshare/engine.h"

namespace indexshare::cli {

// Readers of values; each refuses what it does not understand or what lies outside [min, max].
int64_t parse_integer(std::string_view flag, std::string_view text, int64_t min, int64_t max);
float parse_number(std::string_view flag, std::string_view text, float min, float max);
int64_t parse_size(std::string_view flag, std::string_view text);              // "8G": bytes
std::vector<int32_t> parse_ids(std::string_view flag, std::string_view text);  // "1,2,3"
FloatType parse_float_type(std::string_view flag, std::string_view text);      // "f32" or "bf16"
DType parse_stored_type(std::string_view flag, std::string_view text);         // also "f16" or "fp8"

/// A flag whose value goes through `read`, a function of (flag, text), into `target`.
template <typename T, typename Read>
CLI::Option* add_value(CLI::App& command, const char* flag, T& target, const char* type, const char* help,
                       Read read) {
  return command
      .add_option_function<std::string>(
          flag, [flag, &target, read](const std::string& text) { target = read(flag, text); }, help)
      ->type_name(type);
}

/// A flag whose value is a whole number of [min, max]; T is an integer type or an optional one.
template <typename Integer, typename T>
CLI::Option* add_integer_as(CLI::App& command, const char* flag, T& target, Integer min, Integer max,
                            const char* help) {
  return add_value(command, flag, target, "N", help, [min, max](const char* name, const std::string& text) {
    return static_cast<Integer>(parse_integer(name, text, min, max));
  });
}
template <typename Integer>
CLI::Option* add_integer(CLI::App& command, const char* flag, Integer& target, Integer min, Integer max,
                         const char* help) {
  return add_integer_as<Integer>(command, flag, target, min, max, help);
}
template <typename Integer>
CLI::Option* add_integer(CLI::App& command, const char* flag, std::optional<Integer>& target, Integer min,
                         Integer max, const char* help) {
  return add_integer_as<Integer>(command, flag, target, min, max, help);
}

/// The positional argument MODEL; the flags of the group "Engine", and those of them that memory depends on.
void add_model(CLI::App& command, std::string& model);
void add_engine_flags(CLI::App& command, EngineOptions& options);
void add_memory_flags(CLI::App& command, EngineOptions& options);

/// Flags of the group "Sampling"; what is not given comes from the model's generation_config.json.
struct SamplingFlags {
  std::optional<float> temperature, top_p, min_p, repetition_penalty;
  std::optional<int32_t> top_k;
  float frequency_penalty = 0, presence_penalty = 0;
  std::vector<std::pair<int32_t, float>> logit_bias;
  std::optional<uint64_t> seed;
  std::optional<int64_t> max_tokens, max_reasoning_tokens;
  int32_t min_tokens = 0;
  std::optional<Constraint> constraint;
  std::vector<std::string> stop;
  std::vector<int32_t> stop_ids;
  bool ignore_eos = false;
  std::optional<int32_t> logprobs;
};
void add_sampling_flags(CLI::App& command, SamplingFlags& flags);

/// A request without a prompt. Without --seed each call chooses another seed. Fails where the answer's form
/// is not understood.
Result<GenerationRequest> make_request(const SamplingFlags& flags, const Engine& engine);

/// Flags of the group "Chat": what the template is told.
struct ChatFlags {
  std::string system;
  std::optional<bool> enable_thinking;
  std::optional<std::string> reasoning_effort;  // as the templates spell it: "max" or "high"
};
void add_chat_flags(CLI::App& command, ChatFlags& flags);

/// Engine::load, or ModelRunner::load, with a word on stderr if it takes long or if memory is short.
Result<Engine> load_engine(const std::string& model, const EngineOptions& options);
Result<std::unique_ptr<ModelRunner>> load_runner(const std::string& model, const EngineOptions& options);

}  // namespace indexshare::cli
