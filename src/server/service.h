// What the server answers: routes, keys, and the engine behind them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "indexshare/engine.h"
#include "server/http.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/refusal.h"

namespace indexshare::server {

struct ServiceOptions {
  std::string model_name;             // by which clients know the model
  std::vector<std::string> api_keys;  // any of them opens all but the open routes; none: nothing is locked
  std::string cors_origin;            // whose pages may ask: an origin, "*" or nobody's
  bool keep_billing_header = false;   // see api::MessagesOptions
};

struct Route;
class SessionStore;

/// Since 1970, as the APIs tell time.
int64_t seconds_now();

class Service {
 public:
  /// Both must outlive the service, and it the server.
  Service(Engine& engine, ServiceOptions options, const Log& log);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  HttpHandler handler();

  /// From now on what would generate is refused. From any thread.
  void drain() { draining_ = true; }
  bool draining() const { return draining_; }

  Engine& engine() { return engine_; }
  Metrics& metrics() { return metrics_; }
  /// nullptr where the server keeps none.
  SessionStore* sessions() { return sessions_.get(); }
  void keep_sessions(std::unique_ptr<SessionStore> sessions);
  const ServiceOptions& options() const { return options_; }
  const std::string& model_name() const { return options_.model_name; }
  int64_t created() const { return created_; }

  /// Held while an index lens is made: its handler waits, and a thread must be left for others.
  std::mutex& lens_mutex() { return lens_mutex_; }

  /// The headers that pages of other origins need.
  void add_cors(HttpResponse& response) const;
  /// The whole answer, with these headers.
  void respond(HttpExchange& exchange, HttpResponse response) const;

 private:
  void handle(const std::shared_ptr<HttpExchange>& exchange);
  bool may_pass(const HttpRequest& request) const;

  Engine& engine_;
  ServiceOptions options_;
  const Log& log_;
  Metrics metrics_;
  int64_t created_;
  std::atomic<bool> draining_ = false;
  std::mutex lens_mutex_;
  std::unique_ptr<SessionStore> sessions_;  // last, as its thread uses the others
};

}  // namespace indexshare::server
