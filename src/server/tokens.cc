// POST /tokenize, /detokenize and /apply-template: texts, conversations and the tokens that they are, in the
// forms of vLLM.
#include <algorithm>
#include <optional>

#include "api/chat_completions.h"
#include "base/error.h"
#include "server/chat_prompt.h"
#include "server/openai.h"

namespace indexshare::server {
namespace {

constexpr Field kMessages = {"messages", "a list of objects with a role", "a conversation"};
constexpr Field kGenerationPrompt = {"add_generation_prompt", "true or false",
                                     "end with what an answer begins after (true)"};

constexpr Field kConversationFields[] = {kMessages, kGenerationPrompt};

enum TextPlace : size_t { prompt, add_special_tokens, parse_special, return_token_strs };

constexpr Field kTextFields[] = {
    {"prompt", "a text", "what to make tokens of, where it is no conversation"},
    {"add_special_tokens", "true or false", "means nothing: no token is ever put around a text"},
    {"parse_special", "true or false", "the text of a special token is that token (true)"},
    {"return_token_strs", "true or false", "tell the text of each token as well"},
};

enum TokenPlace : size_t { tokens, skip_special_tokens };

constexpr Field kTokenFields[] = {
    {"tokens", "a list of token ids", "what to make text of"},
    {"skip_special_tokens", "true or false", "leave the model's markers out of the text"},
};

void read_conversation(FieldReader& fields, const Call& call, ChatPrompt& chat) {
  Result<api::ChatInput> input = api::read_chat_completions(call.body);
  std::optional<bool> generation_prompt;
  fields.read(kGenerationPrompt, generation_prompt);
  if (input.ok() && generation_prompt) input->variables["add_generation_prompt"] = *generation_prompt;
  read_chat_prompt(fields, call.engine(), std::move(input), chat);
}

std::vector<int32_t> encode(FieldReader& fields, const Engine& engine) {
  std::string text;
  bool special = true;
  fields.read(kTextFields[prompt], text);
  fields.read(kTextFields[parse_special], special);
  if (fields.refusal()) return {};
  Result<std::vector<int32_t>> ids = engine.encode(text, /*plain=*/!special);
  if (ids.ok()) return std::move(*ids);
  fields.refuse("prompt", ids.error().message);
  return {};
}

Json ids_json(const Engine& engine, std::vector<int32_t> ids) {
  return {{"count", ids.size()}, {"max_model_len", engine.info().context}, {"tokens", std::move(ids)}};
}

std::vector<int32_t> read_ids(FieldReader& fields, const Engine& engine) {
  const Field& field = kTokenFields[tokens];
  const Json* list = fields.find(field.name);
  const bool is_list = list != nullptr && list->is_array();
  const auto size = static_cast<int64_t>(is_list ? list->size() : 0);
  const ModelInfo& info = engine.info();
  if (!is_list || !std::all_of(list->begin(), list->end(), is_token_id)) {
    fields.refuse(field);
  } else if (size > info.context) {  // each may be a long text
    fields.refuse(field.name, fmt::format("tokens has {} ids, expected {} at most, as the context holds",
                                          size, info.context));
  }
  if (fields.refusal()) return {};
  auto ids = list->get<std::vector<int32_t>>();
  for (const int32_t id : ids) {
    if (id < info.vocab_size) continue;
    fields.refuse(field.name, fmt::format("tokens holds {}, which is outside the vocabulary of {} tokens", id,
                                          info.vocab_size));
    break;
  }
  return ids;
}

}  // namespace

std::span<const Field> template_fields() {
  return kConversationFields;
}

std::span<const Field> tokenize_fields() {
  return kTextFields;
}

std::span<const Field> detokenize_fields() {
  return kTokenFields;
}

void post_tokenize(Call call) {
  FieldReader fields(call.body);
  const Engine& engine = call.engine();
  bool around = true, with_texts = false;
  fields.read(kTextFields[add_special_tokens], around);
  fields.read(kTextFields[return_token_strs], with_texts);
  const bool is_text = fields.find("prompt") != nullptr;
  if (is_text == (fields.find("messages") != nullptr)) {
    fields.refuse("prompt", fmt::format("prompt and messages are {} given, expected one of them",
                                        is_text ? "both" : "not"));
  }
  ChatPrompt chat;
  if (is_text) {
    chat.ids = encode(fields, engine);
  } else {
    read_conversation(fields, call, chat);
  }
  if (fields.refusal()) return call.refuse(*fields.refusal());

  Json texts = nullptr;
  if (with_texts) {
    texts = Json::array();
    for (const int32_t id : chat.ids) texts.push_back(token_text(engine, id));
  }
  Json json = ids_json(engine, std::move(chat.ids));
  json["token_strs"] = std::move(texts);
  call.respond(json);
}

void post_detokenize(Call call) {
  FieldReader fields(call.body);
  bool skip_special = false;
  fields.read(kTokenFields[skip_special_tokens], skip_special);
  const std::vector<int32_t> ids = read_ids(fields, call.engine());
  if (fields.refusal()) return call.refuse(*fields.refusal());
  Result<std::string> text = call.engine().decode(ids, skip_special);
  if (!text.ok()) return call.refuse(refusal_of(text.error()));
  call.respond({{"prompt", std::move(*text)}});
}

void post_apply_template(Call call) {
  FieldReader fields(call.body);
  ChatPrompt chat;
  read_conversation(fields, call, chat);
  if (fields.refusal()) return call.refuse(*fields.refusal());
  Json json = {{"prompt", std::move(chat.text)}};
  json.update(ids_json(call.engine(), std::move(chat.ids)));
  call.respond(json);
}

}  // namespace indexshare::server
