// The table of routes, by which requests are dispatched; a test holds docs/SERVER.md against it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "server/fields.h"
#include "server/refusal.h"

namespace indexshare::server {

struct Call;

struct Route {
  std::string_view method;  // GET also answers HEAD
  // One that ends with / stands for all below it, except the root; {name} for any part between two slashes.
  std::string_view path;
  std::string_view about;
  void (*handle)(Call call);
  std::vector<std::span<const Field>> fields = {};  // of the body
  Dialect dialect = Dialect::openai;
  std::string_view content_type = "application/json";  // of its answers
  bool open = false;                                   // needs no key
  bool generates = false;                              // refused while the server drains

  bool holds(std::string_view asked) const {
    return asked == path || (path.size() > 1 && path.ends_with('/') && asked.starts_with(path)) ||
           !name_in(asked).empty();
  }

  /// What {name} stands for in a path of this route; empty where there is none.
  std::string_view name_in(std::string_view asked) const {
    constexpr std::string_view kName = "{name}";
    const size_t at = path.find(kName);
    if (at == std::string_view::npos) return {};
    const std::string_view before = path.substr(0, at), after = path.substr(at + kName.size());
    if (asked.size() < before.size() + after.size() || !asked.starts_with(before) || !asked.ends_with(after))
      return {};
    const auto name = asked.substr(at, asked.size() - before.size() - after.size());
    return name.find('/') == std::string_view::npos ? name : std::string_view();
  }
};

const std::vector<Route>& all_routes();

/// All of them as an OpenAPI document.
Json openapi_document();

// Handlers, each group in the file that is named.
void get_health(Call call);  // status.cc
void get_ready(Call call);
void get_models(Call call);
void get_metrics(Call call);
void get_openapi(Call call);       // openapi.cc
void post_completions(Call call);  // completions.cc
std::span<const Field> completion_fields();
void post_chat_completions(Call call);  // chat_completions.cc
std::span<const Field> chat_completion_fields();
void post_responses(Call call);  // responses.cc
std::span<const Field> response_fields();
void post_messages(Call call);  // messages.cc
std::span<const Field> message_fields();
void post_count_tokens(Call call);
std::span<const Field> conversation_fields();
void post_tokenize(Call call);  // tokens.cc
void post_detokenize(Call call);
void post_apply_template(Call call);
std::span<const Field> tokenize_fields();
std::span<const Field> detokenize_fields();
std::span<const Field> template_fields();
void get_sessions(Call call);  // sessions.cc
void put_session(Call call);
void post_session_restore(Call call);
void delete_session(Call call);
std::span<const Field> session_fields();
void post_embeddings(Call call);  // status.cc
void post_index_lens(Call call);  // index_lens.cc
std::span<const Field> index_lens_fields();
void get_page(Call call);  // page.cc
void get_asset(Call call);

}  // namespace indexshare::server
