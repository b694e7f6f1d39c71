// POST /v1/chat/completions: conversations.
#include "api/chat_completions.h"

#include "base/error.h"
#include "server/answer_reader.h"
#include "server/chat_prompt.h"
#include "server/openai.h"
#include "server/sampling_fields.h"

namespace indexshare::server {
namespace {

enum Place : size_t { model, max_completion_tokens, max_tokens, n, logprobs, top_logprobs };

constexpr Field kFields[] = {
    {"model", "a string", "any name: there is one model"},
    {"max_completion_tokens", "a whole number", "longest answer, reasoning included (as the context allows)",
     0, kMaxTokens},
    {"max_tokens", "a whole number", "the older name of max_completion_tokens", 0, kMaxTokens},
    {"n", "a whole number", "answers", 1, kMaxChoices},
    {"logprobs", "true or false", "report the log-probabilities of the answer's tokens"},
    {"top_logprobs", "a whole number", "and this many of the best at each place; needs logprobs", 0,
     kMaxLogprobs},
    {"messages", "a list of objects with a role", "the conversation"},
};

struct Choice {
  AnswerReader reader;
  ParsedAnswer answer = {};
  Json logprobs = Json::array();  // not yet told
  FinishReason finish_reason = FinishReason::stop;

  std::string_view openai_finish_reason() const {
    const bool calls = finish_reason == FinishReason::stop && !answer.calls.empty();
    return calls ? "tool_calls" : server::openai_finish_reason(finish_reason);
  }
};

constexpr std::string_view kChunk = "chat.completion.chunk";

struct Chat : OpenAiAnswer {
  bool with_logprobs = false;
  std::vector<Choice> choices = {};

  void send_chunk(size_t index, Json delta, Json finish_reason) {
    Choice& choice = choices[index];
    Json json = {{"index", index}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish_reason)}};
    json["logprobs"] = take_logprobs(choice);
    send(object(kChunk, Json::array({std::move(json)})));
  }

  Json take_logprobs(Choice& choice) const {
    if (!with_logprobs) return nullptr;
    return {{"content", std::exchange(choice.logprobs, Json::array())}};
  }

  void on_accepted() {
    if (!stream.stream) return;
    call.begin_events();
    for (size_t i = 0; i < choices.size(); ++i)
      send_chunk(i, {{"role", "assistant"}, {"content", ""}}, nullptr);
  }

  void on_piece(size_t index, const GeneratedPiece& piece) {
    Choice& choice = choices[index];
    if (piece.logprobs && !piece.reasoning) {
      choice.logprobs.push_back(logprob_json(call.engine(), piece.id, *piece.logprobs));
    }
    for (const AnswerEvent& event : choice.reader.push(piece)) tell(index, event);
  }

  std::string call_id(size_t index, int64_t number) const {
    return fmt::format("call_{}_{}_{}", call.exchange->request().id, index, number);
  }

  void tell(size_t index, const AnswerEvent& event) {
    using Kind = AnswerEvent::Kind;
    choices[index].answer.add(event);
    if (!stream.stream) return;
    switch (event.kind) {
      case Kind::reasoning:
        return send_chunk(index, {{"reasoning_content", event.text}, {"reasoning", event.text}}, nullptr);
      case Kind::content:
      case Kind::broken: return send_chunk(index, {{"content", event.text}}, nullptr);
      case Kind::begin:
        return send_call(index, {{"index", event.call},
                                 {"id", call_id(index, event.call)},
                                 {"type", "function"},
                                 {"function", {{"name", event.text}, {"arguments", ""}}}});
      case Kind::arguments:
        return send_call(index, {{"index", event.call}, {"function", {{"arguments", event.text}}}});
      case Kind::end: return;
    }
  }

  void send_call(size_t index, Json json) {
    send_chunk(index, {{"tool_calls", Json::array({std::move(json)})}}, nullptr);
  }

  void on_result(size_t index, const GenerationResult& result) {
    Choice& choice = choices[index];
    for (const AnswerEvent& event : choice.reader.finish()) tell(index, event);
    usage.add(result, index == 0);
    choice.finish_reason = result.finish_reason;
    if (stream.stream) send_chunk(index, Json::object(), choice.openai_finish_reason());
  }

  void on_end() {
    if (stream.stream) {
      end_events(kChunk);
    } else {
      respond("chat.completion", whole_choices());
    }
  }

  Json calls_json(size_t index, const std::vector<ParsedAnswer::ToolCall>& calls) const {
    Json list = Json::array();
    for (const ParsedAnswer::ToolCall& tool : calls) {
      list.push_back({{"id", call_id(index, std::ssize(list))},
                      {"type", "function"},
                      {"function", {{"name", tool.name}, {"arguments", tool.arguments}}}});
    }
    return list;
  }

  Json whole_choices() {
    Json list = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
      Choice& choice = choices[i];
      const ParsedAnswer& answer = choice.answer;
      Json message = {{"role", "assistant"}, {"content", answer.content}};
      if (!answer.reasoning.empty()) message["reasoning_content"] = message["reasoning"] = answer.reasoning;
      if (!answer.calls.empty()) message["tool_calls"] = calls_json(i, answer.calls);
      list.push_back({{"index", i},
                      {"message", std::move(message)},
                      {"logprobs", take_logprobs(choice)},
                      {"finish_reason", choice.openai_finish_reason()}});
    }
    return list;
  }
};

}  // namespace

std::span<const Field> chat_completion_fields() {
  return kFields;
}

void post_chat_completions(Call call) {
  FieldReader fields(call.body);
  GenerationRequest request = call.engine().default_request();
  StreamFields stream;
  std::string name;
  int64_t count = 1;
  bool with_logprobs = false;
  int32_t best = 0;
  fields.read(kFields[model], name);
  fields.read(kFields[max_tokens], request.max_tokens);
  fields.read(kFields[max_completion_tokens], request.max_tokens);
  fields.read(kFields[n], count);
  fields.read(kFields[logprobs], with_logprobs);
  fields.read(kFields[top_logprobs], best);
  read_stream(fields, stream);
  read_sampling(fields, request);
  ChatPrompt prompt;
  read_chat_prompt(fields, call.engine(), api::read_chat_completions(call.body), prompt);
  if (best > 0 && !with_logprobs) fields.refuse("top_logprobs", "top_logprobs needs logprobs to be true");
  if (fields.refusal()) return call.refuse(*fields.refusal());

  if (with_logprobs) request.sampling.logprobs = best;
  prompt.move_into(request);
  auto chat = std::make_shared<Chat>(Chat{{std::move(call), stream, "chatcmpl"}, with_logprobs});
  chat->choices.assign(static_cast<size_t>(count), Choice{AnswerReader(prompt)});
  answer(chat->call, copies(std::move(request), count), listener_of(chat));
}

}  // namespace indexshare::server
