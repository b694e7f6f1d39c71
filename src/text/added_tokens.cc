#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace indexshare {

namespace {

bool is_word_character(char32_t c, const Regex& word_character) {
  std::string text;
  append_utf8(c, text);
  std::vector<Span> matches;
  word_character.find_all(text, matches);
  return !matches.empty();
}

bool stands_alone(std::string_view text, const Span& match, const Regex& word_character) {
  const std::string_view before = text.substr(0, match.begin);
  const std::string_view behind = text.substr(match.end);
  return (before.empty() || !is_word_character(last_code_point(before), word_character)) &&
         (behind.empty() || !is_word_character(first_code_point(behind), word_character));
}

/// The white space that ends at `end`, down to `limit` at most: where it begins.
size_t white_space_before(std::string_view text, size_t limit, size_t end) {
  while (end > limit) {
    const char32_t c = last_code_point(text.substr(0, end));
    if (!is_white_space(c)) break;
    end -= utf8_length(c);
  }
  return std::max(limit, end);
}

/// Where the white space at `begin` ends. `known` is white space found before, so that tokens which lie in
/// it do not make it be walked through again.
size_t white_space_behind(std::string_view text, size_t begin, Span& known) {
  if (begin >= known.begin && begin < known.end) return known.end;
  size_t end = begin;
  while (end < text.size()) {
    const Utf8Step step = utf8_step(text.substr(end));
    if (!is_white_space(step.code_point)) break;
    end += step.length;
  }
  known = {begin, end};
  return end;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  for (const AddedToken& token : tokens_) ++first_byte_[static_cast<unsigned char>(token.content[0]) + 1];
  for (size_t i = 1; i < first_byte_.size(); ++i) first_byte_[i] += first_byte_[i - 1];
}

/// The longest token that `text` begins with, or null. The tokens that share the first `depth` bytes with
/// the text stand together, and one that is no longer than that stands first.
const AddedToken* AddedTokenFinder::longest_at(std::string_view text) const {
  const unsigned char first = static_cast<unsigned char>(text[0]);
  auto begin = tokens_.begin() + first_byte_[first];
  auto end = tokens_.begin() + first_byte_[first + 1u];
  const AddedToken* longest = nullptr;
  for (size_t depth = 1; begin != end; ++depth) {
    if (begin->content.size() == depth) longest = &*begin++;
    if (depth == text.size()) break;
    const auto byte_at = [depth](const AddedToken& t) {
      return static_cast<unsigned char>(t.content[depth]);
    };
    const unsigned char wanted = static_cast<unsigned char>(text[depth]);
    begin = std::partition_point(begin, end, [&](const AddedToken& t) { return byte_at(t) < wanted; });
    end = std::partition_point(begin, end, [&](const AddedToken& t) { return byte_at(t) == wanted; });
  }
  return longest;
}

void AddedTokenFinder::split(std::string_view text, bool skip_special, const Regex& word_character,
                             std::vector<TextPiece>& pieces) const {
  size_t done = 0;  // what is before has gone into pieces
  Span white_space = {0, 0};
  for (size_t i = 0; i < text.size();) {
    const AddedToken* token = longest_at(text.substr(i));
    if (token == nullptr) {
      ++i;
      continue;
    }
    Span match = {i, i + token->content.size()};
    i = match.end;
    if (skip_special && token->special) continue;
    if (token->single_word && !stands_alone(text, match, word_character)) continue;
    if (token->lstrip) match.begin = white_space_before(text, done, match.begin);
    if (token->rstrip) match.end = white_space_behind(text, match.end, white_space);
    // White space may itself be a token, and have been taken along by the one before: as in the reference
    // it counts for nothing if no text is left to it.
    if (match.begin >= match.end) continue;
    if (done < match.begin) pieces.push_back({text.substr(done, match.begin - done)});
    pieces.push_back({text.substr(match.begin, match.end - match.begin), token->id});
    done = match.end;
  }
  if (done < text.size()) pieces.push_back({text.substr(done)});
}

}  // namespace indexshare
