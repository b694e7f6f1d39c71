// Forms that the routes of OpenAI share.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "indexshare/engine.h"
#include "server/call.h"
#include "server/generation.h"

namespace indexshare::server {

inline constexpr int64_t kMaxChoices = 128;
inline constexpr double kMaxTokens = 0x1p40;

/// Tokens, counted over answers.
struct Usage {
  int64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0, reasoning_tokens = 0;

  /// `new_prompt`: its prompt has not been counted with another answer to it.
  void add(const GenerationResult& result, bool new_prompt);
  Json json() const;
};

/// {"token", "logprob", "bytes"} of a token, and with "top_logprobs" where it was chosen.
Json token_json(const Engine& engine, int32_t id, float logprob);
Json logprob_json(const Engine& engine, int32_t id, const TokenLogprobs& logprobs);

/// The text of a token; where it is only a part of a character, "bytes:\x..".
std::string token_text(const Engine& engine, int32_t id);

std::string_view openai_finish_reason(FinishReason reason);

/// The fields "stream" and "stream_options".
struct StreamFields {
  bool stream = false;
  bool include_usage = false;
};
extern const Field kStreamFields[2];
void read_stream(FieldReader& fields, StreamFields& stream);

/// What answers of all forms have, whole or as events.
struct OpenAiAnswer {
  Call call;
  StreamFields stream;
  std::string_view prefix;  // of its id: "chatcmpl" for "chatcmpl-..."
  Usage usage = {};
  int64_t created = seconds_now();

  Json object(std::string_view type, Json choices) const;
  void send(const Json& json) const { call.send_event("", dump_json(json)); }

  /// The whole answer.
  void respond(std::string_view type, Json choices) const;
  /// The last events: the tokens, where they are to be counted, in an object of this type, and the end.
  void end_events(std::string_view type) const;
  /// The request may have been accepted before.
  void on_refusal(const Refusal& refusal) const;
};

}  // namespace indexshare::server
