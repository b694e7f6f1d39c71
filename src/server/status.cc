// Routes that tell about the server and its model.
#include <ctime>

#include "base/error.h"
#include "server/call.h"

namespace indexshare::server {
namespace {

// "2026-01-31T12:00:00Z".
std::string utc(int64_t seconds_since_1970) {
  const auto seconds = static_cast<std::time_t>(seconds_since_1970);
  std::tm time = {};
  ::gmtime_r(&seconds, &time);
  char text[64];
  return {text, std::strftime(text, sizeof(text), "%FT%TZ", &time)};
}

Json anthropic_models(const Service& service, const ModelInfo& info) {
  const std::string& name = service.model_name();
  Json model = {{"type", "model"},
                {"id", name},
                {"display_name", name},
                {"created_at", utc(service.created())},
                {"max_input_tokens", info.context}};
  return {
      {"data", Json::array({std::move(model)})}, {"has_more", false}, {"first_id", name}, {"last_id", name}};
}

}  // namespace

void get_health(Call call) {
  call.respond({{"status", "ok"}});
}

void get_ready(Call call) {
  if (call.service.draining()) return call.refuse({.status = 503, .message = "the server is ending"});
  call.respond({{"status", "ready"}});
}

void get_models(Call call) {
  // Both APIs have this path; every client of Anthropic's sends this header.
  if (!call.exchange->request().header("anthropic-version").empty())
    return call.respond(anthropic_models(call.service, call.engine().info()));
  const ModelInfo& info = call.engine().info();
  Json model = {{"id", call.service.model_name()},   {"object", "model"},
                {"created", call.service.created()}, {"owned_by", "indexshare"},
                {"max_model_len", info.context},     {"schedule", info.schedule},
                {"index_topk", info.index_topk}};
  call.respond({{"object", "list"}, {"data", Json::array({std::move(model)})}});
}

void get_metrics(Call call) {
  call.respond(HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                            .body = call.service.metrics().text(call.engine())});
}

void post_embeddings(Call call) {
  call.refuse({.status = 400,
               .message = fmt::format("{} makes no embeddings: it generates text, at /v1/chat/completions",
                                      call.service.model_name()),
               .field = "model"});
}

}  // namespace indexshare::server
