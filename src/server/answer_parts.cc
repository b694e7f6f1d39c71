#include "server/answer_parts.h"

#include <algorithm>
#include <utility>

namespace indexshare::server {

std::vector<PartEvent> AnswerParts::push(const GeneratedPiece& piece) {
  for (const AnswerEvent& event : reader_.push(piece)) add(event);
  return std::exchange(events_, {});
}

std::vector<PartEvent> AnswerParts::finish() {
  for (const AnswerEvent& event : reader_.finish()) add(event);
  end();
  return std::exchange(events_, {});
}

bool AnswerParts::has_calls() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const AnswerPart& part) {
    return part.kind == AnswerPart::Kind::call && !part.broken;
  });
}

void AnswerParts::add(const AnswerEvent& event) {
  using Kind = AnswerEvent::Kind;
  switch (event.kind) {
    case Kind::reasoning: return go_on(AnswerPart::Kind::reasoning, event.text);
    case Kind::content: return go_on(AnswerPart::Kind::text, event.text);
    case Kind::begin: return begin({.kind = AnswerPart::Kind::call, .name = event.text});
    case Kind::arguments: return go_on(AnswerPart::Kind::call, event.text);
    case Kind::end: return end();
    case Kind::broken: parts_.back().broken = true; return go_on(AnswerPart::Kind::text, event.text);
  }
}

void AnswerParts::begin(AnswerPart part) {
  end();
  events_.push_back({PartEvent::Kind::begin, parts_.size()});
  parts_.push_back(std::move(part));
  open_ = true;
}

void AnswerParts::go_on(AnswerPart::Kind kind, const std::string& text) {
  if (!open_ || parts_.back().kind != kind) begin({.kind = kind});
  parts_.back().text += text;
  events_.push_back({PartEvent::Kind::text, parts_.size() - 1, text});
}

void AnswerParts::end() {
  if (std::exchange(open_, false)) events_.push_back({PartEvent::Kind::end, parts_.size() - 1});
}

}  // namespace indexshare::server
