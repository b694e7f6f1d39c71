// POST /v1/messages and /v1/messages/count_tokens: conversations by Anthropic's API.
#include "api/messages.h"

#include "base/error.h"
#include "server/answer_parts.h"
#include "server/call.h"
#include "server/chat_prompt.h"
#include "server/generation.h"
#include "server/openai.h"
#include "server/sampling_fields.h"

namespace indexshare::server {
namespace {

constexpr Field kConversationFields[] = {
    {"messages", "a list of objects with a role", "the conversation"},
    {"system", "a text or a list of blocks", "what the model is told before the conversation"},
};

enum Place : size_t { model, max_tokens, stop_sequences, stream };

constexpr Field kFields[] = {
    {"model", "a string", "any name: there is one model"},
    {"max_tokens", "a whole number", "longest answer, reasoning included; must be given", 1, kMaxTokens},
    {"stop_sequences", "a list of texts that are not empty", "the answer ends before one of these"},
    {"stream", "true or false", "send the answer as it comes, as server-sent events"},
};

// Anthropic signs what its models think. Clients hand a block back only if there is something here.
constexpr std::string_view kSignature = "unsigned";

Json usage_json(int64_t prompt_tokens, int64_t cached_tokens, int64_t output_tokens) {
  return {{"input_tokens", prompt_tokens - cached_tokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", cached_tokens},
          {"output_tokens", output_tokens}};
}

struct Message {
  Call call;
  bool stream = false;
  int64_t prompt_tokens = 0;
  AnswerParts parts;
  Json stop_reason = nullptr, stop_sequence = nullptr;
  Json usage = usage_json(prompt_tokens, 0, 0);

  void send(Json json) const {
    const auto& name = json["type"].get_ref<const std::string&>();
    call.send_event(name, dump_json(json));
  }

  Json message(Json content) const {
    return {{"id", fmt::format("msg_{}", call.exchange->request().id)},
            {"type", "message"},
            {"role", "assistant"},
            {"model", call.service.model_name()},
            {"content", std::move(content)},
            {"stop_reason", stop_reason},
            {"stop_sequence", stop_sequence},
            {"usage", usage}};
  }

  void on_accepted() const {
    if (!stream) return;
    call.begin_events();
    send({{"type", "message_start"}, {"message", message(Json::array())}});
    send({{"type", "ping"}});
  }

  void on_piece(size_t, const GeneratedPiece& piece) { tell(parts.push(piece)); }

  void tell(const std::vector<PartEvent>& events) const {
    if (!stream) return;
    for (const PartEvent& event : events) tell(event);
  }

  void tell(const PartEvent& event) const {
    const AnswerPart& part = parts.parts()[event.part];
    switch (event.kind) {
      case PartEvent::Kind::begin:
        return send({{"type", "content_block_start"},
                     {"index", event.part},
                     {"content_block", block(event.part, {}, Json::object())}});
      case PartEvent::Kind::text: return send_delta(event.part, delta(part.kind, event.text));
      case PartEvent::Kind::end:
        if (part.kind == AnswerPart::Kind::reasoning) {
          send_delta(event.part, {{"type", "signature_delta"}, {"signature", kSignature}});
        }
        return send({{"type", "content_block_stop"}, {"index", event.part}});
    }
  }

  void send_delta(size_t index, Json delta) const {
    send({{"type", "content_block_delta"}, {"index", index}, {"delta", std::move(delta)}});
  }

  static Json delta(AnswerPart::Kind kind, const std::string& text) {
    switch (kind) {
      case AnswerPart::Kind::reasoning: return {{"type", "thinking_delta"}, {"thinking", text}};
      case AnswerPart::Kind::text: return {{"type", "text_delta"}, {"text", text}};
      case AnswerPart::Kind::call: return {{"type", "input_json_delta"}, {"partial_json", text}};
    }
    return {};
  }

  // With this text, or as a call with this input.
  Json block(size_t index, std::string text, Json input) const {
    const AnswerPart& part = parts.parts()[index];
    switch (part.kind) {
      case AnswerPart::Kind::reasoning: {
        const std::string_view signature = text.empty() ? "" : kSignature;
        return {{"type", "thinking"}, {"thinking", std::move(text)}, {"signature", signature}};
      }
      case AnswerPart::Kind::text: return {{"type", "text"}, {"text", std::move(text)}};
      case AnswerPart::Kind::call:
        return {{"type", "tool_use"},
                {"id", fmt::format("toolu_{}_{}", call.exchange->request().id, index)},
                {"name", part.name},
                {"input", std::move(input)}};
    }
    return {};
  }

  Json whole_block(size_t index) const {
    const AnswerPart& part = parts.parts()[index];
    if (part.kind != AnswerPart::Kind::call) return block(index, part.text, {});
    Result<Json> input = parse_json(part.text, part.name);
    // Each value was JSON, but all together may be nested deeper than we read.
    return block(index, {}, input.ok() ? std::move(*input) : Json(part.text));
  }

  void on_result(size_t, const GenerationResult& result) {
    tell(parts.finish());
    usage = usage_json(result.prompt_tokens, result.cached_tokens, std::ssize(result.ids));
    if (result.finish_reason != FinishReason::stop) {
      stop_reason = "max_tokens";
    } else if (!result.stop_text.empty()) {
      stop_reason = "stop_sequence";
      stop_sequence = result.stop_text;
    } else {
      stop_reason = parts.has_calls() ? "tool_use" : "end_turn";
    }
  }

  void on_end() const {
    if (!stream) {
      Json content = Json::array();
      for (size_t i = 0; i < parts.parts().size(); ++i) {
        if (!parts.parts()[i].broken) content.push_back(whole_block(i));
      }
      return call.respond(message(std::move(content)));
    }
    send({{"type", "message_delta"},
          {"delta", {{"stop_reason", stop_reason}, {"stop_sequence", stop_sequence}}},
          {"usage", usage}});
    send({{"type", "message_stop"}});
    call.exchange->end();
  }

  void on_refusal(const Refusal& refusal) const {
    call.refuse(refusal);  // nothing, if events have begun
    if (!stream) return;
    call.send_event("error", error_json(Dialect::anthropic, refusal));  // nothing, unless they have
    call.exchange->end();
  }
};

void read_prompt(FieldReader& fields, const Call& call, ChatPrompt& prompt) {
  const api::MessagesOptions options = {.drop_billing_header = !call.service.options().keep_billing_header};
  read_chat_prompt(fields, call.engine(), api::read_messages(call.body, options), prompt);
}

}  // namespace

std::span<const Field> conversation_fields() {
  return kConversationFields;
}

std::span<const Field> message_fields() {
  return kFields;
}

void post_messages(Call call) {
  FieldReader fields(call.body);
  GenerationRequest request = call.engine().default_request();
  bool events = false;
  std::string name;
  fields.read(kFields[model], name);
  if (fields.find("max_tokens") == nullptr) fields.refuse(kFields[max_tokens]);
  fields.read(kFields[max_tokens], request.max_tokens);
  fields.read(kFields[stream], events);
  read_sampling(fields, request);
  fields.read(kFields[stop_sequences], request.stop);
  ChatPrompt prompt;
  read_prompt(fields, call, prompt);
  const int64_t length = std::ssize(prompt.ids), context = call.engine().info().context;
  if (length >= context) {  // in the words by which clients know that they must shorten the conversation
    fields.refuse("messages", fmt::format("prompt is too long: {} tokens > {} maximum", length, context - 1));
  }
  if (fields.refusal()) return call.refuse(*fields.refusal());

  prompt.move_into(request);
  auto message = std::make_shared<Message>(Message{std::move(call), events, length, AnswerParts(prompt)});
  answer(message->call, {std::move(request)}, listener_of(message));
}

void post_count_tokens(Call call) {
  FieldReader fields(call.body);
  ChatPrompt prompt;
  read_prompt(fields, call, prompt);
  if (fields.refusal()) return call.refuse(*fields.refusal());
  call.respond({{"input_tokens", prompt.ids.size()}});
}

}  // namespace indexshare::server
