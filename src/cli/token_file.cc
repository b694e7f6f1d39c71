#include "cli/token_file.h"

#include <charconv>

#include "base/error.h"
#include "cli/input.h"

namespace indexshare::cli {

Result<std::vector<int32_t>> read_token_file(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_text(path));
  return parse_token_file(text, path == "-" ? "the standard input" : path);
}

Result<std::vector<int32_t>> parse_token_file(std::string_view text, std::string_view source) {
  constexpr std::string_view kSeparators = " \t\r\n,[]";
  std::vector<int32_t> ids;
  for (size_t at = text.find_first_not_of(kSeparators); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    const std::string_view item = text.substr(at, end - at);
    int32_t id = 0;
    const auto [parsed, error] = std::from_chars(item.data(), item.data() + item.size(), id);
    if (error != std::errc() || parsed != item.data() + item.size() || id < 0) {
      constexpr size_t kShown = 20;
      return make_error("{}: item {} is \"{}{}\", expected a token id", source, ids.size() + 1,
                        item.substr(0, kShown), item.size() > kShown ? "..." : "");
    }
    ids.push_back(id);
    at = text.find_first_not_of(kSeparators, end);
  }
  if (ids.empty()) return make_error("{}: holds no token ids", source);
  return ids;
}

Result<std::vector<int32_t>> encode_plain(const ModelRunner& runner, std::string_view text) {
  if (runner.tokenizer() == nullptr) {
    return make_error("the model has no tokenizer.json: give token ids instead of text");
  }
  return runner.tokenizer()->encode(text);
}

}  // namespace indexshare::cli
