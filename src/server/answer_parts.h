// An answer to a conversation as the parts that it consists of, in their order: what Anthropic's API calls
// blocks, and OpenAI's /v1/responses items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "server/answer_reader.h"

namespace indexshare::server {

struct AnswerPart {
  enum class Kind : uint8_t { reasoning, text, call };
  Kind kind = Kind::text;
  std::string name = {};  // of the tool that is called
  std::string text = {};  // so far; of a call its arguments, JSON
  bool broken = false;  // no call, it turned out: the next part is its text, and this one is to be forgotten
};

struct PartEvent {
  enum class Kind : uint8_t { begin, text, end };
  Kind kind = Kind::begin;
  size_t part = 0;        // its index; one ends before the next begins
  std::string text = {};  // with which it goes on
};

class AnswerParts {
 public:
  explicit AnswerParts(const ChatPrompt& prompt) : reader_(prompt) {}

  /// As those of AnswerReader.
  std::vector<PartEvent> push(const GeneratedPiece& piece);
  std::vector<PartEvent> finish();

  /// All so far.
  const std::vector<AnswerPart>& parts() const { return parts_; }
  bool has_calls() const;

 private:
  void add(const AnswerEvent& event);
  void begin(AnswerPart part);
  void go_on(AnswerPart::Kind kind, const std::string& text);
  void end();

  AnswerReader reader_;
  std::vector<AnswerPart> parts_;
  bool open_ = false;  // the last of them
  std::vector<PartEvent> events_;
};

}  // namespace indexshare::server
