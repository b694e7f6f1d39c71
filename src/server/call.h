// One request on its way through the handler of its route.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "server/routes.h"
#include "server/service.h"

namespace indexshare::server {

struct Call {
  Service& service;
  const Route& route;
  std::shared_ptr<HttpExchange> exchange;
  Json body;  // an object, where the route takes one

  Engine& engine() const { return service.engine(); }
  std::string_view name() const { return route.name_in(exchange->request().path); }  // that {name} stands for

  void respond(const Json& json) const;
  void respond(HttpResponse response) const;
  void refuse(const Refusal& refusal) const;

  /// An answer of server-sent events, and one of them. `name` may be empty.
  void begin_events() const;
  void send_event(std::string_view name, const std::string& data) const;

 private:
  void add_headers(HttpResponse& response) const;
};

}  // namespace indexshare::server
