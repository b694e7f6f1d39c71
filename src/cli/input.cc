#include "cli/input.h"

#include "base/error.h"
#include "base/file.h"
#include "text/utf8.h"

namespace indexshare::cli {
namespace {

constexpr int64_t kMaxInput = int64_t{1} << 30;

}  // namespace

std::string name_of_input(const std::string& path) {
  return path == "-" ? "the standard input" : path;
}

Result<std::string> read_input(const std::string& path) {
  return read_file(path == "-" ? "/dev/stdin" : path, kMaxInput);
}

Result<std::string> read_text(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, read_input(path));
  RETURN_IF_ERROR(check_text(text, name_of_input(path)));
  return text;
}

Result<void> check_text(std::string_view text, std::string_view source) {
  if (text.empty()) return make_error("{} is empty, expected some text", source);
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text.substr(at));
    if (step.kind != Utf8Step::valid) return make_error("{} is not UTF-8 text (byte {})", source, at);
    at += step.length;
  }
  return {};
}

}  // namespace indexshare::cli
