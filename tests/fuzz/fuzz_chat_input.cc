// Any JSON as a request of each API: refused with a reason, or messages that read the same a second time.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/chat_completions.h"
#include "api/messages.h"
#include "api/responses.h"
#include "base/json.h"

namespace {

using namespace indexshare;

void check(const Result<api::ChatInput>& input) {
  if (!input.ok()) {
    if (input.error().message.empty()) std::abort();
    return;
  }
  const Json& variables = input->variables;
  if (variables.contains("tools") == input->tools.empty()) std::abort();
  const Result<api::ChatInput> again = api::read_chat_completions(
      {{"messages", variables["messages"]}, {"tools", variables.value("tools", Json::array())}});
  if (!again.ok() || again->variables["messages"] != variables["messages"]) std::abort();
  if (variables.contains("tools") && again->variables["tools"] != variables["tools"]) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto body = parse_json({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!body.ok()) return 0;
  check(api::read_chat_completions(*body));
  check(api::read_messages(*body));
  check(api::read_responses(*body));
  return 0;
}
