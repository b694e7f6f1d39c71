#include "text/answer_parser.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "text/overlap.h"

namespace indexshare {
namespace {

using Kind = AnswerEvent::Kind;

constexpr std::string_view kThink = "<think>", kEndThink = "</think>";
constexpr std::string_view kCall = "<tool_call>", kEndCall = "</tool_call>";
constexpr std::string_view kKey = "<arg_key>", kEndKey = "</arg_key>";
constexpr std::string_view kValue = "<arg_value>", kEndValue = "</arg_value>";

constexpr std::string_view kSpace = " \t\r\n";
constexpr size_t kMaxKeyBytes = 4 << 10;
constexpr size_t kMaxCallBytes = 16 << 20;

bool is_space(char c) {
  return kSpace.find(c) != std::string_view::npos;
}

/// Which of some tags a text begins with.
struct TagMatch {
  std::string_view tag;   // empty: none
  bool may_come = false;  // the text is the beginning of one
};

TagMatch match_tag(std::string_view text, std::initializer_list<std::string_view> tags) {
  for (const std::string_view tag : tags) {
    if (text.starts_with(tag)) return {tag};
    if (tag.starts_with(text)) return {{}, true};
  }
  return {};
}

// `text` as it stands within a string of JSON.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

// The types, strings apart, of which JSON that begins so may be.
JsonTypes types_beginning_with(char c) {
  switch (c) {
    case '{': return kObjectType;
    case '[': return kArrayType;
    case 't':
    case 'f': return kBooleanType;
    case 'n': return kNullType;
    default: return c == '-' || (c >= '0' && c <= '9') ? kIntegerType | kNumberType : 0;
  }
}

}  // namespace

AnswerParser::AnswerParser(ToolSchemas tools, ReasoningText reasoning) : tools_(std::move(tools)) {
  switch (reasoning) {
    case ReasoningText::none: state_ = State::content; break;
    case ReasoningText::marked: state_ = State::start; break;
    case ReasoningText::open: state_ = State::reasoning; break;
  }
}

std::vector<AnswerEvent> AnswerParser::push(std::string_view text) {
  const std::string input = std::exchange(held_, {}).append(text);
  rest_ = input;
  while (!rest_.empty() && step()) {
  }
  held_ = std::exchange(rest_, {});
  return std::exchange(events_, {});
}

std::vector<AnswerEvent> AnswerParser::finish() {
  const std::string input = std::exchange(held_, {});  // no tag, it turns out
  rest_ = input;
  const std::string_view text = take(rest_.size());
  if (in_call()) {
    break_call();
  } else if (state_ == State::reasoning) {
    tell(Kind::reasoning, text);
  } else {
    content(text);
  }
  tell(Kind::content, std::exchange(spaces_, {}));
  return std::exchange(events_, {});
}

// Reads on in `rest_`, which is not empty; false when more text must come first.
bool AnswerParser::step() {
  if (in_call() && call_.text.size() >= kMaxCallBytes) return break_call();
  switch (state_) {
    case State::start: return step_start();
    case State::reasoning: return step_reasoning();
    case State::content: return step_content();
    case State::after_call: return step_after_call();
    case State::name: return step_name();
    case State::key: return step_key();
    case State::after_key: return step_after_key();
    case State::value: return step_value();
    case State::after_value: return step_after_value();
  }
  return false;
}

bool AnswerParser::step_start() {
  if (is_space(rest_.front())) {
    spaces_ += take(1);
    return true;
  }
  const TagMatch match = match_tag(rest_, {kThink});
  if (match.may_come) return false;
  state_ = match.tag.empty() ? State::content : State::reasoning;
  if (!match.tag.empty()) spaces_.clear();
  take(match.tag.size());
  return true;
}

bool AnswerParser::step_reasoning() {
  if (rest_.starts_with(kEndThink)) {
    take(kEndThink.size());
    state_ = State::content;
    return true;
  }
  const std::string_view text = take_before(kEndThink);
  tell(Kind::reasoning, text);
  return !text.empty();
}

bool AnswerParser::step_content() {
  if (tools_.empty()) {
    content(take(rest_.size()));
    return true;
  }
  if (rest_.starts_with(kCall)) {
    call_ = Call{};
    state_ = State::name;
    take(kCall.size());
    return true;
  }
  const std::string_view text = take_before(kCall);
  content(text);
  return !text.empty();
}

bool AnswerParser::step_after_call() {
  if (is_space(rest_.front())) {
    take(1);
  } else {
    state_ = State::content;
  }
  return true;
}

bool AnswerParser::step_name() {
  const char c = rest_.front();
  if (is_space(c)) {
    take(1);
    call_.name_ended = !call_.name.empty();
    return true;
  }
  if (is_tool_name_byte(c) && !call_.name_ended && call_.name.size() < kMaxToolNameBytes) {
    call_.name += take(1);
    return true;
  }
  const TagMatch match = match_tag(rest_, {kKey, kEndCall});
  if (match.may_come) return false;
  if (match.tag.empty() || call_.name.empty()) return break_call();
  take(match.tag.size());
  spaces_.clear();
  ++calls_;
  tell(Kind::begin, call_.name);
  return after_argument(match.tag);
}

bool AnswerParser::step_key() {
  if (!rest_.starts_with(kEndKey)) {
    const std::string_view text = take_before(kEndKey, kMaxKeyBytes + 1 - call_.key.size());
    call_.key += text;
    return call_.key.size() > kMaxKeyBytes ? break_call() : !text.empty();
  }
  take(kEndKey.size());
  if (!call_.keys.insert(call_.key).second) return break_call();
  tell(Kind::arguments, fmt::format("{}\"{}\":", call_.keys.size() == 1 ? "{" : ",", escaped(call_.key)));
  state_ = State::after_key;
  return true;
}

bool AnswerParser::step_after_key() {
  if (is_space(rest_.front())) {
    take(1);
    return true;
  }
  const TagMatch match = match_tag(rest_, {kValue});
  if (match.may_come) return false;
  if (match.tag.empty()) return break_call();
  take(match.tag.size());
  call_.types = tools_.types(call_.name, call_.key);
  call_.form = ValueForm::undecided;
  if (call_.types == kStringType) begin_string();
  state_ = State::value;
  return true;
}

bool AnswerParser::step_value() {
  if (rest_.starts_with(kEndValue)) {
    call_.end_value = take(kEndValue.size());
    state_ = State::after_value;
    return true;
  }
  const std::string_view text = take_before(kEndValue);
  value(text);
  return !text.empty();
}

bool AnswerParser::step_after_value() {
  if (is_space(rest_.front())) {
    call_.end_value += take(1);
    return true;
  }
  const TagMatch match = match_tag(rest_, {kKey, kEndCall});
  if (match.may_come) return false;
  if (match.tag.empty()) {  // the value goes on
    value(std::exchange(call_.end_value, {}));
    state_ = State::value;
    return true;
  }
  take(match.tag.size());
  close_value();
  return after_argument(match.tag);
}

// What `tag` begins where an argument may: one, or the end of the call.
bool AnswerParser::after_argument(std::string_view tag) {
  if (tag == kKey) {
    call_.key.clear();
    state_ = State::key;
  } else {
    tell(Kind::arguments, call_.keys.empty() ? "{}" : "}");
    tell(Kind::end, {});
    state_ = State::after_call;
  }
  return true;
}

bool AnswerParser::break_call() {
  const bool told = state_ != State::name;
  state_ = State::content;
  if (told) {
    tell(Kind::broken, call_.text);
  } else {
    content(call_.text);
  }
  return true;
}

void AnswerParser::begin_string() {
  tell(Kind::arguments, "\"" + escaped(std::exchange(call_.value, {})));
  call_.form = ValueForm::string;
}

void AnswerParser::value(std::string_view text) {
  if (call_.form == ValueForm::string) return tell(Kind::arguments, escaped(text));
  call_.value += text;
  if (call_.form == ValueForm::json) return;
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return;
  call_.form = ValueForm::json;
  const bool may_be_string = (call_.types & kStringType) != 0;
  if (may_be_string && (call_.types & types_beginning_with(text[first])) == 0) begin_string();
}

void AnswerParser::close_value() {
  if (call_.form == ValueForm::json) {
    const std::string_view text = trimmed(call_.value);
    const Result<Json> json = parse_json(text, "");
    const bool may_be_string = (call_.types & kStringType) != 0;
    if (json.ok() && (!may_be_string || (call_.types & type_of(*json)) != 0)) {
      tell(Kind::arguments, text);
      call_.value.clear();
      return;
    }
  }
  if (call_.form != ValueForm::string) begin_string();
  tell(Kind::arguments, "\"");
}

// Pieces of one kind are joined, so that a push tells each thing once.
void AnswerParser::tell(Kind kind, std::string_view text) {
  const bool piece = kind == Kind::reasoning || kind == Kind::content || kind == Kind::arguments;
  if (piece && text.empty()) return;
  if (piece && !events_.empty() && events_.back().kind == kind) {
    events_.back().text += text;
    return;
  }
  const bool of_call = kind != Kind::reasoning && kind != Kind::content;
  events_.push_back({kind, std::string(text), of_call ? calls_ - 1 : -1});
}

// Space at its end waits for what follows.
void AnswerParser::content(std::string_view text) {
  const size_t last = text.find_last_not_of(kSpace);
  const size_t end = last == std::string_view::npos ? 0 : last + 1;
  if (end > 0) {
    tell(Kind::content, std::exchange(spaces_, {}));
    tell(Kind::content, text.substr(0, end));
  }
  spaces_ += text.substr(end);
}

std::string_view AnswerParser::take(size_t bytes) {
  const std::string_view text = rest_.substr(0, bytes);
  rest_.remove_prefix(text.size());
  if (in_call()) call_.text += text;
  return text;
}

// The text that certainly stands before the next `tag`, but no more than `limit` of it.
std::string_view AnswerParser::take_before(std::string_view tag, size_t limit) {
  if (in_call()) limit = std::min(limit, kMaxCallBytes - call_.text.size());
  // Nothing is searched that is not taken as well.
  const std::string_view text = rest_.substr(0, std::min(rest_.size(), limit) + tag.size());
  const size_t found = text.find(tag);
  return take(std::min(limit, found != std::string_view::npos ? found : text.size() - overlap(text, tag)));
}

void ParsedAnswer::add(const AnswerEvent& event) {
  switch (event.kind) {
    case AnswerEvent::Kind::reasoning: reasoning += event.text; break;
    case AnswerEvent::Kind::content: content += event.text; break;
    case AnswerEvent::Kind::begin: calls.push_back({event.text, {}}); break;
    case AnswerEvent::Kind::arguments: calls.back().arguments += event.text; break;
    case AnswerEvent::Kind::end: break;
    case AnswerEvent::Kind::broken:
      calls.pop_back();
      content += event.text;
      break;
  }
}

}  // namespace indexshare
