#include "text/normalizer.h"

#include "text/utf8.h"

namespace indexshare {

namespace {

std::string apply_step(const NormalForm& form, std::string_view text) {
  return normalize(text, form);
}

std::string apply_step(const Normalizer::Replace& step, std::string_view text) {
  std::vector<Span> matches;
  step.pattern.find_all(text, matches);
  std::string out;
  size_t done = 0;
  for (const Span& match : matches) {
    out += text.substr(done, match.begin - done);
    out += step.content;
    done = match.end;
  }
  return out += text.substr(done);
}

std::string apply_step(const Normalizer::Prepend& step, std::string_view text) {
  return text.empty() ? std::string() : step.content + std::string(text);
}

std::string apply_step(const Normalizer::Strip& step, std::string_view text) {
  while (step.left && !text.empty() && is_white_space(first_code_point(text))) {
    text.remove_prefix(utf8_length(first_code_point(text)));
  }
  while (step.right && !text.empty() && is_white_space(last_code_point(text))) {
    text.remove_suffix(utf8_length(last_code_point(text)));
  }
  return std::string(text);
}

}  // namespace

std::string Normalizer::apply(std::string_view text) const {
  std::string result(text);
  for (const Step& step : steps_) {
    result = std::visit([&](const auto& s) { return apply_step(s, result); }, step);
  }
  return result;
}

}  // namespace indexshare
