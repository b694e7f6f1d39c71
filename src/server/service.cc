#include "server/service.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "server/call.h"
#include "server/session_store.h"
#include "text/utf8.h"

namespace indexshare::server {
namespace {

constexpr std::string_view kBearer = "bearer ";

// The routes of a path, whatever their method.
std::vector<const Route*> routes_of(std::string_view path) {
  std::vector<const Route*> found;
  for (const Route& route : all_routes()) {
    if (route.holds(path)) found.push_back(&route);
  }
  return found;
}

Dialect dialect_of(std::string_view path) {
  const auto routes = routes_of(path);
  return routes.empty() ? Dialect::openai : routes.front()->dialect;
}

std::string methods_of(const std::vector<const Route*>& routes) {
  std::string methods = "OPTIONS";
  for (const Route* route : routes)
    methods += fmt::format(", {}{}", route->method, route->method == "GET" ? ", HEAD" : "");
  return methods;
}

HttpResponse wrong_method(const HttpRequest& request, const std::vector<const Route*>& routes) {
  HttpResponse response = error_response(
      routes.front()->dialect, {.status = 405,
                                .message = fmt::format("{} does not answer {}, but {}", request.path,
                                                       request.method, methods_of(routes))});
  response.headers.push_back({"Allow", methods_of(routes)});
  return response;
}

// "prompt=14 cached=0" by its words; any other note as it stands.
void add_note(std::string_view note, std::vector<LogField>& fields) {
  if (note.substr(0, note.find(' ')).find('=') == std::string_view::npos) {
    if (!note.empty()) fields.push_back({"note", std::string(note), LogField::Kind::text});
    return;
  }
  while (!note.empty()) {
    const std::string_view word = note.substr(0, note.find(' '));
    note.remove_prefix(std::min(word.size() + 1, note.size()));
    const size_t middle = std::min(word.find('='), word.size());
    const std::string_view value = word.substr(std::min(middle + 1, word.size()));
    const bool number = !value.empty() && value.find_first_not_of("0123456789.") == std::string_view::npos;
    fields.push_back(
        {word.substr(0, middle), std::string(value), number ? LogField::Kind::number : LogField::Kind::word});
  }
}

// Takes a time that tells nothing but the length of `given`.
bool equal_in_constant_time(std::string_view given, std::string_view secret) {
  volatile unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const char other = secret.empty() ? '\0' : secret[i % secret.size()];
    difference = difference | static_cast<unsigned>(given[i] ^ other);
  }
  return difference == 0;
}

}  // namespace

Service::Service(Engine& engine, ServiceOptions options, const Log& log)
    : engine_(engine), options_(std::move(options)), log_(log), created_(seconds_now()) {}

Service::~Service() = default;

void Service::keep_sessions(std::unique_ptr<SessionStore> sessions) {
  sessions_ = std::move(sessions);
}

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

HttpHandler Service::handler() {
  HttpHandler handler;
  handler.handle = [this](const std::shared_ptr<HttpExchange>& exchange) { handle(exchange); };
  handler.refuse = [this](int status, std::string_view path, std::string message) {
    HttpResponse response =
        error_response(dialect_of(path), {.status = status, .message = std::move(message)});
    add_cors(response);
    return response;
  };
  handler.on_end = [this](const HttpRecord& record) {
    const auto routes = routes_of(record.path);
    metrics_.observe_request(routes.empty() ? "none" : routes.front()->path, record.status, record.seconds);
    if (!log_.writes(LogLevel::info)) return;
    std::vector<LogField> fields = {
        {"request", std::string(record.id)},
        {"method", std::string(record.method)},
        {"path", std::string(record.path), LogField::Kind::text},
        {"status", std::to_string(record.status), LogField::Kind::number},
        {"ms", fmt::format("{:.1f}", 1e3 * record.seconds), LogField::Kind::number}};
    if (!record.whole) fields.push_back({"client", "gone"});
    add_note(record.note, fields);
    log_.write(LogLevel::info, "", fields);
  };
  return handler;
}

void Service::add_cors(HttpResponse& response) const {
  if (options_.cors_origin.empty()) return;
  response.headers.push_back({"Access-Control-Allow-Origin", options_.cors_origin});
  response.headers.push_back({"Access-Control-Expose-Headers", "X-Request-Id, Retry-After"});
  if (options_.cors_origin != "*") response.headers.push_back({"Vary", "Origin"});
}

void Service::respond(HttpExchange& exchange, HttpResponse response) const {
  add_cors(response);
  exchange.respond(std::move(response));
}

bool Service::may_pass(const HttpRequest& request) const {
  if (options_.api_keys.empty()) return true;
  std::string_view key = request.header("x-api-key");
  const std::string_view authorization = request.header("Authorization");
  if (equal_without_case(authorization.substr(0, kBearer.size()), kBearer))
    key = authorization.substr(kBearer.size());
  bool known = false;
  for (const std::string& secret : options_.api_keys) known = equal_in_constant_time(key, secret) || known;
  return known;
}

void Service::handle(const std::shared_ptr<HttpExchange>& exchange) {
  const HttpRequest& request = exchange->request();
  const auto routes = routes_of(request.path);
  if (routes.empty()) {
    return respond(
        *exchange,
        error_response(Dialect::openai,
                       {.status = 404, .message = fmt::format("there is no route {}", shown(request.path))}));
  }
  if (request.method == "OPTIONS") {
    HttpResponse response = {.status = 204, .content_type = ""};
    response.headers = {{"Allow", methods_of(routes)},
                        {"Access-Control-Allow-Methods", methods_of(routes)},
                        {"Access-Control-Allow-Headers", "*, Authorization"},
                        {"Access-Control-Max-Age", "600"}};
    return respond(*exchange, std::move(response));
  }
  const auto found = std::find_if(routes.begin(), routes.end(), [&](const Route* r) {
    return r->method == request.method || (r->method == "GET" && request.method == "HEAD");
  });
  if (found == routes.end()) return respond(*exchange, wrong_method(request, routes));
  const Route& route = **found;
  Call call = {*this, route, exchange, {}};
  if (!route.open && !may_pass(request)) {
    return call.refuse(
        {.status = 401,
         .message = "an API key is needed, as \"Authorization: Bearer KEY\" or \"x-api-key: KEY\"",
         .code = "invalid_api_key"});
  }
  if (route.generates && draining_) return call.refuse({.status = 503, .message = "the server is ending"});
  const bool takes_body = request.method == "POST" || request.method == "PUT";
  if (takes_body && !(request.body.empty() && route.fields.empty())) {
    if (!is_utf8(request.body)) return call.refuse({.message = "the body is not UTF-8"});
    Result<Json> body = parse_json(request.body, "the body");
    if (!body.ok()) return call.refuse({.message = body.error().message});
    if (!body->is_object()) {
      return call.refuse({.message = fmt::format("the body is {}, expected an object", json_kind(*body))});
    }
    call.body = std::move(*body);
  }
  route.handle(std::move(call));
}

}  // namespace indexshare::server
