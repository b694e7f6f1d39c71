#include "server/openai.h"

#include "base/error.h"
#include "text/utf8.h"

namespace indexshare::server {

const Field kStreamFields[2] = {
    {"stream", "true or false", "send the answer as it comes, as server-sent events"},
    {"stream_options", "an object", "include_usage: a last event counts the tokens"},
};

namespace {

void end_stream(const Call& call) {
  call.send_event("", "[DONE]");
  call.exchange->end();
}

}  // namespace

void Usage::add(const GenerationResult& result, bool new_prompt) {
  if (new_prompt) {
    prompt_tokens += result.prompt_tokens;
    cached_tokens += result.cached_tokens;
  }
  completion_tokens += std::ssize(result.ids);
  reasoning_tokens += result.reasoning_tokens;
}

Json Usage::json() const {
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", completion_tokens},
          {"total_tokens", prompt_tokens + completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", cached_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", reasoning_tokens}}}};
}

std::string token_text(const Engine& engine, int32_t id) {
  const Result<std::string> bytes = engine.token_bytes(id);
  if (!bytes.ok()) return fmt::format("token_id:{}", id);
  if (is_utf8(*bytes)) return *bytes;
  std::string text = "bytes:";
  for (const char byte : *bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return text;
}

Json token_json(const Engine& engine, int32_t id, float logprob) {
  Json bytes = Json::array();
  if (const auto text = engine.token_bytes(id); text.ok()) {
    for (const char byte : *text) bytes.push_back(static_cast<unsigned char>(byte));
  }
  return {{"token", token_text(engine, id)}, {"logprob", logprob}, {"bytes", std::move(bytes)}};
}

Json logprob_json(const Engine& engine, int32_t id, const TokenLogprobs& logprobs) {
  Json json = token_json(engine, id, logprobs.logprob);
  json["top_logprobs"] = Json::array();
  for (const TokenLogprob& top : logprobs.top) {
    json["top_logprobs"].push_back(token_json(engine, top.id, top.logprob));
  }
  return json;
}

std::string_view openai_finish_reason(FinishReason reason) {
  return reason == FinishReason::stop ? "stop" : "length";
}

void read_stream(FieldReader& fields, StreamFields& stream) {
  fields.read(kStreamFields[0], stream.stream);
  const Json* options = fields.find("stream_options");
  if (options == nullptr) return;
  if (!options->is_object()) return fields.refuse(kStreamFields[1]);
  const auto include = options->find("include_usage");
  if (include == options->end() || include->is_null()) return;
  if (!include->is_boolean()) {
    return fields.refuse(
        "stream_options",
        fmt::format("stream_options.include_usage is {}, expected true or false", shown(*include)));
  }
  stream.include_usage = include->get<bool>();
}

Json OpenAiAnswer::object(std::string_view type, Json choices) const {
  return {{"id", fmt::format("{}-{}", prefix, call.exchange->request().id)},
          {"object", type},
          {"created", created},
          {"model", call.service.model_name()},
          {"choices", std::move(choices)}};
}

void OpenAiAnswer::respond(std::string_view type, Json choices) const {
  Json json = object(type, std::move(choices));
  json["usage"] = usage.json();
  call.respond(json);
}

void OpenAiAnswer::end_events(std::string_view type) const {
  if (stream.include_usage) {
    Json json = object(type, Json::array());
    json["usage"] = usage.json();
    send(json);
  }
  end_stream(call);
}

void OpenAiAnswer::on_refusal(const Refusal& refusal) const {
  call.refuse(refusal);  // nothing, if events have begun
  if (!stream.stream) return;
  call.send_event("", error_json(Dialect::openai, refusal));  // nothing, unless they have
  end_stream(call);
}

}  // namespace indexshare::server
