// Routes that tell about the server and its model.
#include "base/error.h"
#include "server/call.h"

namespace indexshare::server {

void get_health(Call call) {
  call.respond({{"status", "ok"}});
}

void get_ready(Call call) {
  if (call.service.draining()) return call.refuse({.status = 503, .message = "the server is ending"});
  call.respond({{"status", "ready"}});
}

void get_models(Call call) {
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
