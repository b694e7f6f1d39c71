// POST /v1/chat/completions: conversations.
#include "base/error.h"
#include "server/chat_prompt.h"
#include "server/openai.h"
#include "server/sampling_fields.h"

namespace indexshare::server {
namespace {

constexpr double kMaxTokens = 0x1p40;

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
};

struct Choice {
  std::string reasoning, content;
  Json logprobs = Json::array();  // not yet told
  FinishReason finish_reason = FinishReason::stop;
};

struct Chat {
  Call call;
  StreamFields stream;
  bool with_logprobs = false;
  std::vector<Choice> choices = {};
  Usage usage = {};
  std::string id = {};
  int64_t created = seconds_now();

  Json object(std::string_view type, Json choice_list) const {
    return {{"id", id},
            {"object", type},
            {"created", created},
            {"model", call.service.model_name()},
            {"choices", std::move(choice_list)}};
  }

  void send_chunk(size_t index, Json delta, Json finish_reason) {
    Choice& choice = choices[index];
    Json json = {{"index", index}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish_reason)}};
    json["logprobs"] = take_logprobs(choice);
    call.send_event("", dump_json(object("chat.completion.chunk", Json::array({std::move(json)}))));
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
    (piece.reasoning ? choice.reasoning : choice.content) += piece.text;
    if (!stream.stream || piece.text.empty()) return;
    if (piece.reasoning) {
      send_chunk(index, {{"reasoning_content", piece.text}, {"reasoning", piece.text}}, nullptr);
    } else {
      send_chunk(index, {{"content", piece.text}}, nullptr);
    }
  }

  void on_result(size_t index, const GenerationResult& result) {
    usage.add(result, index == 0);
    choices[index].finish_reason = result.finish_reason;
    if (stream.stream) send_chunk(index, Json::object(), openai_finish_reason(result.finish_reason));
  }

  void on_end() {
    if (!stream.stream) return call.respond(whole());
    if (stream.include_usage) {
      Json json = object("chat.completion.chunk", Json::array());
      json["usage"] = usage.json();
      call.send_event("", dump_json(json));
    }
    end_events(call);
  }

  Json whole() {
    Json list = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
      Choice& choice = choices[i];
      Json message = {{"role", "assistant"}, {"content", choice.content}};
      if (!choice.reasoning.empty()) message["reasoning_content"] = message["reasoning"] = choice.reasoning;
      list.push_back({{"index", i},
                      {"message", std::move(message)},
                      {"logprobs", take_logprobs(choice)},
                      {"finish_reason", openai_finish_reason(choice.finish_reason)}});
    }
    Json json = object("chat.completion", std::move(list));
    json["usage"] = usage.json();
    return json;
  }
};

AnswerListener listener_of(const std::shared_ptr<Chat>& chat) {
  AnswerListener listener;
  listener.on_accepted = [=] { chat->on_accepted(); };
  listener.on_piece = [=](size_t index, const GeneratedPiece& piece) { chat->on_piece(index, piece); };
  listener.on_result = [=](size_t index, const GenerationResult& result) { chat->on_result(index, result); };
  listener.on_end = [=] { chat->on_end(); };
  listener.on_refusal = [=](const Refusal& refusal) { refuse(chat->call, chat->stream.stream, refusal); };
  return listener;
}

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
  read_chat_prompt(fields, call.engine(), call.body, request.prompt);
  if (best > 0 && !with_logprobs) fields.refuse("top_logprobs", "top_logprobs needs logprobs to be true");
  if (fields.refusal()) return call.refuse(*fields.refusal());

  if (with_logprobs) request.sampling.logprobs = best;
  auto chat = std::make_shared<Chat>(Chat{std::move(call), stream, with_logprobs});
  chat->id = object_id("chatcmpl", *chat->call.exchange);
  chat->choices.resize(static_cast<size_t>(count));
  answer(chat->call.engine(), chat->call.exchange, copies(std::move(request), count), listener_of(chat));
}

}  // namespace indexshare::server
