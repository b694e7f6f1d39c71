#include "server/routes.h"

#include "server/chat_prompt.h"
#include "server/openai.h"
#include "server/sampling_fields.h"

namespace indexshare::server {

const std::vector<Route>& all_routes() {
  static const std::vector<Route> kRoutes = {
      {.method = "GET",
       .path = "/health",
       .about = "200 while the process works",
       .handle = get_health,
       .open = true},
      {.method = "GET",
       .path = "/ready",
       .about = "200 while requests are taken, 503 while the server ends",
       .handle = get_ready,
       .open = true},
      {.method = "GET", .path = "/v1/models", .about = "the model that is served", .handle = get_models},
      {.method = "GET",
       .path = "/metrics",
       .about = "what the server counts and measures, for Prometheus",
       .handle = get_metrics},
      {.method = "POST",
       .path = "/v1/completions",
       .about = "continues texts (OpenAI)",
       .handle = post_completions,
       .fields = {completion_fields(), kStreamFields, sampling_fields()},
       .generates = true},
      {.method = "POST",
       .path = "/v1/chat/completions",
       .about = "answers a conversation (OpenAI)",
       .handle = post_chat_completions,
       .fields = {chat_prompt_fields(), chat_completion_fields(), kStreamFields, sampling_fields()},
       .generates = true},
      {.method = "POST",
       .path = "/v1/messages",
       .about = "answers a conversation (Anthropic)",
       .handle = post_messages,
       .fields = {conversation_fields(), message_fields(), chat_prompt_fields(), sampling_fields()},
       .dialect = Dialect::anthropic,
       .generates = true},
      {.method = "POST",
       .path = "/v1/messages/count_tokens",
       .about = "how many tokens a conversation is (Anthropic)",
       .handle = post_count_tokens,
       .fields = {conversation_fields(), chat_prompt_fields()},
       .dialect = Dialect::anthropic},
      {.method = "POST",
       .path = "/tokenize",
       .about = "the tokens of a text or of a conversation",
       .handle = post_tokenize,
       .fields = {tokenize_fields(), template_fields(), chat_prompt_fields()}},
      {.method = "POST",
       .path = "/detokenize",
       .about = "the text of tokens",
       .handle = post_detokenize,
       .fields = {detokenize_fields()}},
      {.method = "POST",
       .path = "/apply-template",
       .about = "the prompt that a conversation is, as text and as tokens",
       .handle = post_apply_template,
       .fields = {template_fields(), chat_prompt_fields()}},
      {.method = "POST",
       .path = "/v1/embeddings",
       .about = "always refused: the model makes no embeddings",
       .handle = post_embeddings},
      {.method = "GET", .path = "/", .about = "the web page", .handle = get_page, .open = true},
      {.method = "GET", .path = "/assets/", .about = "its files", .handle = get_asset, .open = true},
  };
  return kRoutes;
}

}  // namespace indexshare::server
