#include "server/call.h"

#include "base/error.h"

namespace indexshare::server {

void Call::respond(const Json& json) const {
  respond(HttpResponse{.body = dump_json(json)});
}

void Call::respond(HttpResponse response) const {
  add_headers(response);
  service.respond(*exchange, std::move(response));
}

void Call::add_headers(HttpResponse& response) const {
  // Where Anthropic's clients look for what X-Request-Id says.
  if (route.dialect == Dialect::anthropic) response.headers.push_back({"request-id", exchange->request().id});
}

void Call::refuse(const Refusal& refusal) const {
  respond(error_response(route.dialect, refusal));
}

void Call::begin_events() const {
  HttpResponse head = {.content_type = "text/event-stream"};
  head.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  service.add_cors(head);
  add_headers(head);
  exchange->begin(std::move(head), route.dialect == Dialect::anthropic
                                       ? "event: ping\ndata: {\"type\": \"ping\"}\n\n"
                                       : ": still working\n\n");
}

void Call::send_event(std::string_view name, const std::string& data) const {
  exchange->write(name.empty() ? fmt::format("data: {}\n\n", data)
                               : fmt::format("event: {}\ndata: {}\n\n", name, data));
}

}  // namespace indexshare::server
