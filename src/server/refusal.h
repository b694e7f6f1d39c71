// Why a request is refused, told in the form of the API that it came by.
#pragma once

#include <string>
#include <string_view>

#include "indexshare/result.h"
#include "server/http.h"

namespace indexshare::server {

struct Refusal {
  int status = 400;
  std::string message;
  std::string field = {};  // of the request's body, where one is at fault
  std::string code = {};   // a word for programs, where an API has one
};

/// Whose forms an answer has.
enum class Dialect : uint8_t { openai, anthropic };

/// What of the engine's errors are the client's, the server's, or a matter of time.
Refusal refusal_of(const Error& error);

/// The body of an error, and the whole answer. 429 and 503 say when to try again.
std::string error_json(Dialect dialect, const Refusal& refusal);
HttpResponse error_response(Dialect dialect, const Refusal& refusal);

}  // namespace indexshare::server
