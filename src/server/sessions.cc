// The routes below /v1/sessions: sequences that are saved under a name and brought back.
#include <algorithm>
#include <memory>

#include "api/chat_completions.h"
#include "base/error.h"
#include "server/chat_prompt.h"
#include "server/generation.h"
#include "server/session_store.h"

namespace indexshare::server {
namespace {

enum Place : size_t { prompt, messages };

constexpr Field kFields[] = {
    {"prompt", "a text or a list of token ids", "the sequence to save"},
    {"messages", "a list of objects with a role", "or a conversation, with the fields of chats"},
};

// nullptr, after a refusal, where there are none, or `name` is not one.
SessionStore* store_for(const Call& call, std::string_view name) {
  SessionStore* store = call.service.sessions();
  if (store == nullptr) {
    call.refuse({.status = 404, .message = "this server keeps no sessions: it has no --session-dir"});
    return nullptr;
  }
  if (SessionStore::is_name(name)) return store;
  call.refuse({.message = fmt::format("{} is no name of a session, expected up to 64 letters, digits, _, - "
                                      "and, not in front, .",
                                      shown(Json(name)))});
  return nullptr;
}

bool refuse_unknown(const Call& call, const SessionStore& store, const std::string& name) {
  if (store.has(name)) return false;
  call.refuse({.status = 404, .message = fmt::format("there is no session {}", name)});
  return true;
}

// A session and what an answer has to say of it.
Json session_json(const std::string& name, const Json& members) {
  Json json = {{"id", name}, {"object", "session"}};
  json.update(members);
  return json;
}

void read_ids(FieldReader& fields, const Engine& engine, const Json& value, std::vector<int32_t>& ids) {
  if (value.is_array() && std::all_of(value.begin(), value.end(), is_token_id)) {
    ids = value.get<std::vector<int32_t>>();
  } else if (value.is_string()) {
    Result<std::vector<int32_t>> encoded = engine.encode(value.get_ref<const std::string&>());
    if (!encoded.ok()) return fields.refuse("prompt", encoded.error().message);
    ids = std::move(*encoded);
  } else {
    fields.refuse(kFields[prompt]);
  }
}

std::vector<int32_t> read_sequence(FieldReader& fields, const Call& call) {
  const Json* text = fields.find("prompt");
  if (text != nullptr && fields.find("messages") != nullptr) {
    fields.refuse("prompt", "prompt and messages are both given, expected one of them");
    return {};
  }
  ChatPrompt chat;
  if (text != nullptr) {
    read_ids(fields, call.engine(), *text, chat.ids);
  } else {
    Result<api::ChatInput> input = api::read_chat_completions(call.body);
    if (input.ok())
      input->variables["add_generation_prompt"] = false;  // so that whatever follows goes on from it
    read_chat_prompt(fields, call.engine(), std::move(input), chat);
  }
  return std::move(chat.ids);
}

}  // namespace

std::span<const Field> session_fields() {
  return kFields;
}

void get_sessions(Call call) {
  SessionStore* store = store_for(call, "any");
  if (store == nullptr) return;
  const auto sessions = store->list();
  if (!sessions.ok()) return call.refuse(refusal_of(sessions.error()));
  Json data = Json::array();
  for (const SavedSession& session : *sessions) {
    data.push_back(session_json(session.name, {{"bytes", session.bytes}, {"created", session.saved}}));
  }
  call.respond({{"object", "list"}, {"data", std::move(data)}});
}

// The sequence is run as a request like any other, which its client can leave; what is left to do is the
// file.
void put_session(Call call) {
  const std::string name(call.name());
  SessionStore* store = store_for(call, name);
  if (store == nullptr) return;
  FieldReader fields(call.body);
  GenerationRequest request;
  request.prompt = read_sequence(fields, call);
  request.max_tokens = 0;
  if (fields.refusal()) return call.refuse(*fields.refusal());
  const auto tokens = std::make_shared<const std::vector<int32_t>>(request.prompt);
  const auto save = [call, store, name, tokens] {
    const Result<void> saved = store->save(name, *tokens);
    if (!saved.ok()) return call.refuse(refusal_of(saved.error()));
    call.respond(session_json(name, {{"tokens", tokens->size()}}));
  };
  AnswerListener listener = {.on_accepted = [] {},
                             .on_piece = {},
                             .on_result = [](size_t, const GenerationResult&) {},
                             .on_end = [store, save] { store->post(save); },
                             .on_refusal = [call](const Refusal& refusal) { call.refuse(refusal); }};
  answer(call, {std::move(request)}, std::move(listener));
}

void post_session_restore(Call call) {
  const std::string name(call.name());
  SessionStore* store = store_for(call, name);
  if (store == nullptr || refuse_unknown(call, *store, name)) return;
  store->post([call, store, name] {
    const Result<int64_t> tokens = store->restore(name);
    if (!tokens.ok()) return call.refuse(refusal_of(tokens.error()));
    call.respond(session_json(name, {{"tokens", *tokens}}));
  });
}

void delete_session(Call call) {
  const std::string name(call.name());
  SessionStore* store = store_for(call, name);
  if (store == nullptr || refuse_unknown(call, *store, name)) return;
  const Result<void> removed = store->remove(name);
  if (!removed.ok()) return call.refuse(refusal_of(removed.error()));
  call.respond(session_json(name, {{"deleted", true}}));
}

}  // namespace indexshare::server
