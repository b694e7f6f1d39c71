#include "server/refusal.h"

#include "base/json.h"

namespace indexshare::server {
namespace {

constexpr const char* kRetrySeconds = "2";

std::string_view openai_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 404: return "not_found_error";
    case 429: return "rate_limit_error";
    default: return status < 500 ? "invalid_request_error" : "server_error";
  }
}

std::string_view anthropic_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return status < 500 ? "invalid_request_error" : "api_error";
  }
}

// A string or null.
Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace

Refusal refusal_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid:
    case ErrorCode::not_found:
    case ErrorCode::unsupported: return {.status = 400, .message = error.message};
    case ErrorCode::busy: return {.status = 429, .message = error.message};
    case ErrorCode::out_of_memory:
    case ErrorCode::io: break;
  }
  return {.status = 500, .message = error.message};
}

std::string error_json(Dialect dialect, const Refusal& refusal) {
  if (dialect == Dialect::anthropic) {
    return dump_json({{"type", "error"},
                      {"error", {{"type", anthropic_type(refusal.status)}, {"message", refusal.message}}}});
  }
  return dump_json({{"error",
                     {{"message", refusal.message},
                      {"type", openai_type(refusal.status)},
                      {"param", or_null(refusal.field)},
                      {"code", or_null(refusal.code)}}}});
}

HttpResponse error_response(Dialect dialect, const Refusal& refusal) {
  HttpResponse response = {.status = refusal.status, .body = error_json(dialect, refusal)};
  if (refusal.status == 429 || refusal.status == 503)
    response.headers.push_back({"Retry-After", kRetrySeconds});
  if (refusal.status == 401) response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

}  // namespace indexshare::server
