// POST /v1/responses: conversations by OpenAI's newer API, whose answers are lists of items.
#include "api/responses.h"

#include "base/error.h"
#include "server/answer_parts.h"
#include "server/chat_prompt.h"
#include "server/openai.h"
#include "server/sampling_fields.h"

namespace indexshare::server {
namespace {

enum Place : size_t { model, max_output_tokens, stream, text };

constexpr Field kFields[] = {
    {"model", "a string", "any name: there is one model"},
    {"max_output_tokens", "a whole number", "longest answer, reasoning included (as the context allows)", 1,
     kMaxTokens},
    {"stream", "true or false", "send the answer as it comes, as server-sent events"},
    {"text", "an object", "format: the form of the answer, as response_format has it"},
    {"input", "a text or a list of items", "the conversation"},
    {"instructions", "a text", "what the model is told before the conversation"},
    {"reasoning", "an object",
     "effort: as reasoning_effort; summary: auto, concise or detailed: reasoning comes as its own summary"},
    {"previous_response_id", "nothing", "refused: nothing is stored"},
    {"conversation", "nothing", "refused: nothing is stored"},
    {"prompt", "nothing", "refused: nothing is stored"},
    {"background", "false", "refused otherwise: nothing is stored"},
    {"top_logprobs", "0", "refused otherwise: log-probabilities are told by /v1/chat/completions"},
};

// What of a request every answer to it repeats, and as what where it is not given.
Json settings_of(const Json& body) {
  Json settings = {{"instructions", nullptr},
                   {"max_output_tokens", nullptr},
                   {"metadata", Json::object()},
                   {"parallel_tool_calls", true},
                   {"reasoning", Json::object()},
                   {"temperature", nullptr},
                   {"text", {{"format", {{"type", "text"}}}}},
                   {"tool_choice", "auto"},
                   {"tools", Json::array()},
                   {"top_p", nullptr},
                   {"truncation", "disabled"}};
  for (auto& [name, value] : settings.items()) {
    if (const auto given = body.find(name); given != body.end() && !given->is_null()) value = *given;
  }
  return settings;
}

Json usage_json(const GenerationResult& result) {
  const int64_t output_tokens = std::ssize(result.ids);
  return {{"input_tokens", result.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", result.cached_tokens}, {"cache_write_tokens", 0}}},
          {"output_tokens", output_tokens},
          {"output_tokens_details", {{"reasoning_tokens", result.reasoning_tokens}}},
          {"total_tokens", result.prompt_tokens + output_tokens}};
}

// How an item of a kind is told.
struct Form {
  std::string_view id;     // how its id begins
  std::string_view part;   // events of the part that holds its text, "response.content_part.added"
  std::string_view place;  // of that part, "content_index"
  std::string_view type;   // of that part; of a call, which has none, empty
  std::string_view text;   // events of its text, "response.output_text.delta"
};

constexpr Form kReasoning = {"rs", "content_part", "content_index", "reasoning_text", "reasoning_text"};
constexpr Form kSummary = {"rs", "reasoning_summary_part", "summary_index", "summary_text",
                           "reasoning_summary_text"};
constexpr Form kMessage = {"msg", "content_part", "content_index", "output_text", "output_text"};
constexpr Form kCall = {"fc", "", "", "", "function_call_arguments"};

constexpr std::string_view kInProgress = "in_progress", kCompleted = "completed", kIncomplete = "incomplete";

struct Response {
  Call call;
  bool stream = false;
  bool summaries = false;  // tell reasoning as its summary, which is all that some clients read of it
  AnswerParts parts;
  Json settings;
  int64_t created = seconds_now();
  std::string_view status = kInProgress;
  Json output = Json::array();  // items that have ended
  Json usage = nullptr, error = nullptr;
  int64_t events = 0;  // sent

  std::string id(std::string_view prefix) const {
    return fmt::format("{}_{}", prefix, call.exchange->request().id);
  }

  Json json() const {
    Json json = {{"id", id("resp")},
                 {"object", "response"},
                 {"created_at", created},
                 {"status", status},
                 {"error", error},
                 {"incomplete_details", nullptr},
                 {"model", call.service.model_name()},
                 {"output", output},
                 {"usage", usage},
                 {"background", false},
                 {"previous_response_id", nullptr},
                 {"store", false}};
    if (status == kIncomplete) json["incomplete_details"] = {{"reason", "max_output_tokens"}};
    json.update(settings);
    return json;
  }

  void send(const std::string& type, Json members) {
    Json json = {{"type", type}, {"sequence_number", events++}};
    json.update(members);
    call.send_event(type, dump_json(json));
  }

  void on_accepted() {
    if (!stream) return;
    call.begin_events();
    send("response.created", {{"response", json()}});
    send("response.in_progress", {{"response", json()}});
  }

  void on_piece(size_t, const GeneratedPiece& piece) { tell(parts.push(piece), kCompleted); }

  // `end`: the status of items that end here.
  void tell(const std::vector<PartEvent>& events_of_parts, std::string_view end) {
    for (const PartEvent& event : events_of_parts) {
      switch (event.kind) {
        case PartEvent::Kind::begin: begin_item(event.part); break;
        case PartEvent::Kind::text: send_text(event.part, "delta", "delta", event.text); break;
        case PartEvent::Kind::end: end_item(event.part, end); break;
      }
    }
  }

  void begin_item(size_t index) {
    if (!stream) return;
    send("response.output_item.added", {{"output_index", index}, {"item", item(index, {}, kInProgress)}});
    send_part(index, "added", {});
  }

  void end_item(size_t index, std::string_view end) {
    const AnswerPart& part = parts.parts()[index];
    if (!part.broken) output.push_back(item(index, part.text, end));
    if (!stream) return;
    if (part.broken) {  // clients wait for its end, but nobody is to run it: its arguments are no JSON either
      return send("response.output_item.done",
                  {{"output_index", index}, {"item", item(index, part.text, kIncomplete)}});
    }
    send_text(index, "done", part.kind == AnswerPart::Kind::call ? "arguments" : "text", part.text);
    send_part(index, "done", part.text);
    send("response.output_item.done", {{"output_index", index}, {"item", output.back()}});
  }

  void send_part(size_t index, std::string_view what, const std::string& text) {
    const Form& form = form_of(index);
    if (form.type.empty()) return;
    Json json = place(index);
    json["part"] = text_part(form, text);
    send(fmt::format("response.{}.{}", form.part, what), json);
  }

  void send_text(size_t index, std::string_view what, const char* member, const std::string& text) {
    if (!stream) return;
    Json json = place(index);
    json[member] = text;
    if (parts.parts()[index].kind == AnswerPart::Kind::text) json["logprobs"] = Json::array();
    send(fmt::format("response.{}.{}", form_of(index).text, what), json);
  }

  const Form& form_of(size_t index) const {
    switch (parts.parts()[index].kind) {
      case AnswerPart::Kind::reasoning: return summaries ? kSummary : kReasoning;
      case AnswerPart::Kind::text: return kMessage;
      case AnswerPart::Kind::call: break;
    }
    return kCall;
  }

  std::string item_id(size_t index) const { return fmt::format("{}_{}", id(form_of(index).id), index); }

  Json place(size_t index) const {
    Json json = {{"item_id", item_id(index)}, {"output_index", index}};
    if (const Form& form = form_of(index); !form.type.empty()) json[std::string(form.place)] = 0;
    return json;
  }

  static Json text_part(const Form& form, const std::string& text) {
    Json json = {{"type", form.type}, {"text", text}};
    if (form.type == kMessage.type)
      json.update({{"annotations", Json::array()}, {"logprobs", Json::array()}});
    return json;
  }

  // With this text, or as a call with these arguments; without a part while it is in progress.
  Json item(size_t index, const std::string& text, std::string_view item_status) const {
    const AnswerPart& part = parts.parts()[index];
    Json texts = Json::array();
    if (item_status != kInProgress) texts.push_back(text_part(form_of(index), text));
    Json json = {{"id", item_id(index)}, {"status", item_status}};
    switch (part.kind) {
      case AnswerPart::Kind::reasoning:
        json.update({{"type", "reasoning"}, {"summary", Json::array()}});
        json[summaries ? "summary" : "content"] = std::move(texts);
        break;
      case AnswerPart::Kind::text:
        json.update({{"type", "message"}, {"role", "assistant"}, {"content", std::move(texts)}});
        break;
      case AnswerPart::Kind::call:
        json.update({{"type", "function_call"},
                     {"call_id", fmt::format("{}_{}", id("call"), index)},
                     {"name", part.name},
                     {"arguments", text}});
    }
    return json;
  }

  void on_result(size_t, const GenerationResult& result) {
    status = result.finish_reason == FinishReason::stop ? kCompleted : kIncomplete;
    tell(parts.finish(), status);
    usage = usage_json(result);
  }

  void on_end() {
    if (!stream) return call.respond(json());
    send(fmt::format("response.{}", status), {{"response", json()}});
    call.exchange->end();
  }

  void on_refusal(const Refusal& refusal) {
    call.refuse(refusal);  // nothing, if events have begun
    if (!stream) return;
    status = "failed";
    error = {{"code", "server_error"}, {"message", refusal.message}};
    send("response.failed", {{"response", json()}});  // nothing, unless they have
    call.exchange->end();
  }
};

// Whether reasoning is to come as a summary.
bool read_summary(FieldReader& fields) {
  const Json* reasoning = fields.find("reasoning");
  if (reasoning == nullptr || !reasoning->is_object()) return false;  // refused with the conversation
  const auto summary = reasoning->find("summary");
  if (summary == reasoning->end() || summary->is_null()) return false;
  if (*summary == "auto" || *summary == "concise" || *summary == "detailed") return true;
  fields.refuse("reasoning",
                fmt::format("reasoning.summary is {}, expected auto, concise or detailed", shown(*summary)));
  return false;
}

// What needs a server that keeps answers, or forms of answers that there are not.
void refuse_what_is_missing(FieldReader& fields) {
  for (const char* name : {"previous_response_id", "conversation", "prompt"}) {
    if (fields.find(name) == nullptr) continue;
    fields.refuse(
        name, fmt::format("{} is given, but nothing is stored: send the whole conversation as input", name));
  }
  if (const Json* background = fields.find("background"); background != nullptr && *background != false)
    fields.refuse("background", "background is not false, but nothing is stored: stream instead");
  if (const Json* form = fields.find("text"); form != nullptr && !form->is_object()) {
    fields.refuse(kFields[text]);
  }
  if (const Json* count = fields.find("top_logprobs"); count != nullptr && *count != 0) {
    fields.refuse("top_logprobs",
                  "top_logprobs is not 0: log-probabilities are told by /v1/chat/completions");
  }
}

}  // namespace

std::span<const Field> response_fields() {
  return kFields;
}

void post_responses(Call call) {
  FieldReader fields(call.body);
  GenerationRequest request = call.engine().default_request();
  bool events = false;
  std::string name;
  fields.read(kFields[model], name);
  fields.read(kFields[max_output_tokens], request.max_tokens);
  fields.read(kFields[stream], events);
  read_sampling(fields, request);
  const bool summaries = read_summary(fields);
  refuse_what_is_missing(fields);
  ChatPrompt prompt;
  read_chat_prompt(fields, call.engine(), api::read_responses(call.body), prompt);
  if (fields.refusal()) return call.refuse(*fields.refusal());

  prompt.move_into(request);
  Json settings = settings_of(call.body);
  auto response = std::make_shared<Response>(
      Response{std::move(call), events, summaries, AnswerParts(prompt), std::move(settings)});
  answer(response->call, {std::move(request)}, listener_of(response));
}

}  // namespace indexshare::server
