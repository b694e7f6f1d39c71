#include "text/pre_tokenizer.h"

#include <algorithm>
#include <string>

namespace indexshare {

namespace {

struct Part {
  Span span;
  bool is_match;
};

/// The matches and the text between them, in order.
std::vector<Part> parts_of(std::string_view text, const std::vector<Span>& matches, bool invert) {
  std::vector<Part> parts;
  parts.reserve(2 * matches.size() + 1);
  size_t done = 0;
  for (const Span& match : matches) {
    if (done != match.begin) parts.push_back({{done, match.begin}, invert});
    parts.push_back({match, !invert});
    done = match.end;
  }
  if (done != text.size()) parts.push_back({{done, text.size()}, invert});
  return parts;
}

/// Joins each part to the one before where `joins(part, whether the one before was a match)`.
template <typename Joins>
std::vector<Span> join(const std::vector<Part>& parts, Joins joins) {
  std::vector<Span> pieces;
  bool after_match = false;
  for (const Part& part : parts) {
    if (!pieces.empty() && joins(part.is_match, after_match)) {
      pieces.back().begin = std::min(pieces.back().begin, part.span.begin);
      pieces.back().end = std::max(pieces.back().end, part.span.end);
    } else {
      pieces.push_back(part.span);
    }
    after_match = part.is_match;
  }
  return pieces;
}

}  // namespace

std::vector<Span> PreTokenizer::split(std::string_view text, const std::vector<Span>& matches,
                                      SplitBehavior behavior, bool invert) {
  std::vector<Part> parts = parts_of(text, matches, invert);
  const auto opens_run = [](bool is_match, bool after_match) { return is_match && !after_match; };
  switch (behavior) {
    case SplitBehavior::removed: {
      std::vector<Span> pieces;
      for (const Part& part : parts) {
        if (!part.is_match) pieces.push_back(part.span);
      }
      return pieces;
    }
    case SplitBehavior::isolated: return join(parts, [](bool, bool) { return false; });
    case SplitBehavior::contiguous:
      return join(parts, [](bool is_match, bool after) { return is_match == after; });
    case SplitBehavior::merged_with_previous: return join(parts, opens_run);
    case SplitBehavior::merged_with_next: {
      std::reverse(parts.begin(), parts.end());
      std::vector<Span> pieces = join(parts, opens_run);
      std::reverse(pieces.begin(), pieces.end());
      return pieces;
    }
  }
  return {};
}

void PreTokenizer::for_each_word(std::string_view text,
                                 const std::function<void(std::string_view)>& use) const {
  std::vector<Span> pieces = {{0, text.size()}};
  std::vector<Span> matches;
  for (const Split& step : splits_) {
    std::vector<Span> next;
    for (const Span& piece : pieces) {
      const std::string_view part = text.substr(piece.begin, piece.end - piece.begin);
      matches.clear();
      step.pattern.find_all(part, matches);
      for (const Span& span : split(part, matches, step.behavior, step.invert)) {
        if (span.begin != span.end) next.push_back({piece.begin + span.begin, piece.begin + span.end});
      }
    }
    pieces = std::move(next);
  }

  std::string prefixed;
  for (const Span& piece : pieces) {
    std::string_view part = text.substr(piece.begin, piece.end - piece.begin);
    if (part.empty()) continue;
    if (byte_level_.add_prefix_space && part.front() != ' ') {
      prefixed.assign(" ").append(part);
      part = prefixed;
    }
    if (!byte_level_.pattern) {
      use(part);
      continue;
    }
    matches.clear();
    byte_level_.pattern->find_all(part, matches);
    for (const Span& span : split(part, matches, SplitBehavior::isolated, false)) {
      if (span.begin != span.end) use(part.substr(span.begin, span.end - span.begin));
    }
  }
}

}  // namespace indexshare
