// Reads the text of an answer as GLM writes it, while it comes: reasoning, content and tool calls.
//
//   <think>reasoning</think>content
//   <tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value>...</tool_call>
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/tool_schemas.h"

namespace indexshare {

/// Where reasoning stands in a text.
enum class ReasoningText : uint8_t {
  none,    // nowhere: markers are text. For pieces of which GeneratedPiece::reasoning is false
  marked,  // first, if it begins with <think>
  open,    // first: the prompt ended with <think>
};

/// What a piece of text turned out to be.
struct AnswerEvent {
  enum class Kind : uint8_t {
    reasoning,  // `text` goes on with the reasoning
    content,    // `text` goes on with the content
    begin,      // a tool call begins: `text` is the tool's name
    arguments,  // `text` goes on with the call's arguments, an object of JSON
    end,        // the call has ended
    broken,     // the call is none: `text` is all of it as it was written, also what was told before
  };
  Kind kind = Kind::content;
  std::string text;   // never empty but for `end`
  int64_t call = -1;  // of a tool call's events: 0 for the first of the answer

  bool operator==(const AnswerEvent&) const = default;
};

/// The events of a text depend on the text alone: where it was cut shows in nothing but how the texts of
/// events are cut. A push() costs as much time as its text is long.
///
/// - Reasoning ends at the first </think>; without one, all is reasoning. A tool call in it is text.
/// - A call is told once <arg_key> or </tool_call> follows its name. What does not get so far is content.
/// - A value ends at an </arg_value> that <arg_key> or </tool_call> follows. Any other tag is part of it.
/// - A value becomes what the tool's schema allows. Where that is a string alone, it is told as it comes,
///   whatever it looks like. Else it is the JSON that it holds, if of a type allowed; else a string, if that
///   is allowed or it holds no JSON; else that JSON.
/// - A tool that is not known is called all the same, as if its schema said nothing: whoever runs the tools
///   answers that there is none, which the model can read.
/// - White space around tags and around a call is part of nothing.
/// - A call is broken by other text between its tags, by a key that it had before, by a key over 4 KiB or
///   16 MiB in all, and by the end of the answer.
class AnswerParser {
 public:
  /// Without tools, what looks like a call is content.
  explicit AnswerParser(ToolSchemas tools = {}, ReasoningText reasoning = ReasoningText::marked);

  /// The next text of the answer, whole UTF-8; the events that it makes certain.
  std::vector<AnswerEvent> push(std::string_view text);

  /// Nothing more comes: what was held back.
  std::vector<AnswerEvent> finish();

 private:
  enum class State : uint8_t {
    start,  // where reasoning may begin
    reasoning,
    content,
    after_call,
    // inside a call
    name,
    key,
    after_key,
    value,
    after_value,
  };
  enum class ValueForm : uint8_t { undecided, string, json };

  /// The call that is being read.
  struct Call {
    std::string text;  // all of it so far
    std::string name;
    bool name_ended = false;
    std::string key;
    std::set<std::string, std::less<>> keys;  // of all arguments
    JsonTypes types = kAnyType;               // of the value
    ValueForm form = ValueForm::undecided;
    std::string value;      // as far as it has not been told
    std::string end_value;  // </arg_value> and space, until it shows whether they end the value
  };

  bool in_call() const { return state_ >= State::name; }

  bool step();
  bool step_start();
  bool step_reasoning();
  bool step_content();
  bool step_after_call();
  bool step_name();
  bool step_key();
  bool step_after_key();
  bool step_value();
  bool step_after_value();
  bool after_argument(std::string_view tag);
  bool break_call();

  void begin_string();
  void value(std::string_view text);
  void close_value();
  void content(std::string_view text);
  void tell(AnswerEvent::Kind kind, std::string_view text);

  std::string_view take(size_t bytes);
  std::string_view take_before(std::string_view tag, size_t limit = SIZE_MAX / 2);

  ToolSchemas tools_;
  State state_ = State::start;
  std::string held_;       // the beginning of what may become a tag
  std::string_view rest_;  // what a push() has not read yet
  std::vector<AnswerEvent> events_;
  std::string spaces_;  // at the end of content: part of it unless a call follows
  int64_t calls_ = 0;   // begun
  Call call_;
};

/// An answer as a whole.
struct ParsedAnswer {
  struct ToolCall {
    std::string name;
    std::string arguments;  // JSON
  };
  std::string reasoning, content;
  std::vector<ToolCall> calls;

  /// A broken call is content.
  void add(const AnswerEvent& event);
};

}  // namespace indexshare
