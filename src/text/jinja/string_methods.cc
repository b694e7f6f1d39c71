// Python's string methods. Positions are code points outside and bytes inside.
#include <algorithm>

#include "base/error.h"
#include "text/jinja/arguments.h"
#include "text/jinja/format.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {
namespace {

// A new string that is as safe (as HTML) as the one it comes from.
Value derived(Interpreter& interpreter, const Value& self, std::string text) {
  return interpreter.string(std::move(text), self.as_string().safe);
}

Value list_of(Interpreter& interpreter, const Value& self, const std::vector<std::string_view>& parts) {
  Values items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) items.push_back(derived(interpreter, self, std::string(part)));
  return interpreter.list(std::move(items));
}

// What is not safe is escaped before it joins what is.
std::string joinable(Interpreter& interpreter, const Value& self, const std::string& text) {
  return self.as_string().safe ? escape(interpreter.budget(), Value::string(text)).text() : text;
}

template <std::string (*map)(std::string_view)>
Value mapped(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("a string method", std::move(arguments), {});
  interpreter.budget().bytes(static_cast<int64_t>(self.text().size()));
  return derived(interpreter, self, map(self.text()));
}

template <bool (*predicate)(char32_t), bool if_empty = false>
Value all_characters(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("a string method", std::move(arguments), {});
  const std::string& text = self.text();
  interpreter.budget().step(static_cast<int64_t>(text.size() >> 4));
  for (size_t i = 0; i < text.size();) {
    if (!predicate(decode(text, i))) return Value::boolean(false);
  }
  return Value::boolean(if_empty || !text.empty());
}

bool is_ascii(char32_t c) {
  return c < 0x80;
}

Value isidentifier(Interpreter&, const Value& self, Arguments arguments) {
  const Parameters parameters("isidentifier", std::move(arguments), {});
  const std::string& text = self.text();
  for (size_t i = 0; i < text.size();) {
    const bool first = i == 0;
    const char32_t c = decode(text, i);
    if (!(first ? is_identifier_start(c) : is_identifier_part(c))) return Value::boolean(false);
  }
  return Value::boolean(!text.empty());
}

// islower() and isupper(): a cased letter, and none of the other case.
template <bool (*wanted)(char32_t), bool (*other)(char32_t)>
Value has_case(Interpreter&, const Value& self, Arguments arguments) {
  const Parameters parameters("a string method", std::move(arguments), {});
  bool found = false;
  for (size_t i = 0; i < self.text().size();) {
    const char32_t c = decode(self.text(), i);
    if (other(c) || is_title(c)) return Value::boolean(false);
    found = found || wanted(c);
  }
  return Value::boolean(found);
}

Value istitle(Interpreter&, const Value& self, Arguments arguments) {
  const Parameters parameters("istitle", std::move(arguments), {});
  bool found = false, in_word = false;
  for (size_t i = 0; i < self.text().size();) {
    const char32_t c = decode(self.text(), i);
    const bool upper = is_upper(c) || is_title(c);
    const bool lower = is_lower(c);
    if (upper ? in_word : lower && !in_word) return Value::boolean(false);
    in_word = upper || lower;
    found = found || in_word;
  }
  return Value::boolean(found);
}

template <bool left, bool right>
Value stripped(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("strip", std::move(arguments), {""});
  std::string_view set;
  if (parameters.has(0)) set = parameters.string(0);
  const std::string_view text = strip(self.text(), parameters.has(0) ? &set : nullptr, left, right);
  return derived(interpreter, self, std::string(text));
}

// --- searching ---

// The part of a text between the code points `start` and `end`, as find() and its siblings take them.
struct Window {
  std::string_view text;
  int64_t start = 0;  // in code points
  bool valid = true;  // false: start lies beyond the end, where not even "" is found
};

Window window(const String& self, const Parameters& parameters) {
  const int64_t size = self.length;
  const auto place = [&](size_t i, int64_t otherwise) {
    const int64_t given = parameters.has(i) ? parameters.integer(i, 0) : otherwise;
    return given < 0 ? std::max<int64_t>(given + size, 0) : given;
  };
  const int64_t start = place(1, 0), end = std::min(place(2, size), size);
  if (start > end) return {{}, start, false};
  const size_t begin = byte_offset(self.text, start);
  return {std::string_view(self.text).substr(begin, byte_offset(self.text, end) - begin), start, true};
}

enum class Missing : uint8_t { minus_one, error };

template <bool from_right, Missing missing>
Value found(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("find", std::move(arguments), {"", "", ""}, 1);
  const Window part = window(self.as_string(), parameters);
  const std::string& wanted = parameters.string(0);
  interpreter.budget().step(static_cast<int64_t>(part.text.size() >> 5));
  size_t at = std::string_view::npos;
  if (part.valid) at = from_right ? find_last_bytes(part.text, wanted) : find_bytes(part.text, wanted);
  if (at != std::string_view::npos) {
    return Value::integer(part.start + count_code_points(part.text.substr(0, at)));
  }
  if (missing == Missing::error) fail("substring not found");
  return Value::integer(-1);
}

Value count(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("count", std::move(arguments), {"", "", ""}, 1);
  const Window part = window(self.as_string(), parameters);
  const std::string& wanted = parameters.string(0);
  interpreter.budget().step(static_cast<int64_t>(part.text.size() >> 3));
  if (!part.valid) return Value::integer(0);
  if (wanted.empty()) return Value::integer(count_code_points(part.text) + 1);
  int64_t total = 0;
  for (size_t at = 0; (at = find_bytes(part.text, wanted, at)) != std::string_view::npos; at += wanted.size())
    ++total;
  return Value::integer(total);
}

template <bool at_start>
Value affixed(Interpreter& interpreter, const Value& self, Arguments arguments) {
  constexpr std::string_view kName = at_start ? "startswith" : "endswith";
  const Parameters parameters(kName, std::move(arguments), {"", "", ""}, 1);
  const Window part = window(self.as_string(), parameters);
  const auto matches = [&](const Value& affix) {
    interpreter.budget().step();
    if (!affix.is(Kind::string)) {
      fail(fmt::format("{}() needs a str or a tuple of str, not {}", kName, type_name(affix)));
    }
    return part.valid && (at_start ? part.text.starts_with(affix.text()) : part.text.ends_with(affix.text()));
  };
  if (!parameters[0].is_tuple()) return Value::boolean(matches(parameters[0]));
  const Values& affixes = parameters[0].as_sequence().items;
  return Value::boolean(std::any_of(affixes.begin(), affixes.end(), matches));
}

Value removeprefix(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("removeprefix", std::move(arguments), {""}, 1);
  const std::string& prefix = parameters.string(0);
  return self.text().starts_with(prefix) ? derived(interpreter, self, self.text().substr(prefix.size()))
                                         : self;
}

Value removesuffix(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("removesuffix", std::move(arguments), {""}, 1);
  const std::string& suffix = parameters.string(0);
  if (!self.text().ends_with(suffix)) return self;
  return derived(interpreter, self, self.text().substr(0, self.text().size() - suffix.size()));
}

// --- taking apart and putting together ---

template <bool from_right>
Value split_method(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("split", std::move(arguments), {"sep", "maxsplit"});
  std::string_view separator;
  if (parameters.has(0)) separator = parameters.string(0);
  if (parameters.has(0) && separator.empty()) fail("empty separator");
  interpreter.budget().step(static_cast<int64_t>(self.text().size() >> 4));
  return list_of(
      interpreter, self,
      split(self.text(), parameters.has(0) ? &separator : nullptr, parameters.integer(1, -1), from_right));
}

Value splitlines(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("splitlines", std::move(arguments), {"keepends"});
  interpreter.budget().step(static_cast<int64_t>(self.text().size() >> 4));
  return list_of(interpreter, self, split_lines(self.text(), parameters.integer(0, 0) != 0));
}

template <bool from_right>
Value partition(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("partition", std::move(arguments), {""}, 1);
  const std::string& separator = parameters.string(0);
  if (separator.empty()) fail("empty separator");
  const std::string& text = self.text();
  interpreter.budget().step(static_cast<int64_t>(text.size() >> 5));
  const size_t at = from_right ? find_last_bytes(text, separator) : find_bytes(text, separator);
  const auto part = [&](std::string piece) { return derived(interpreter, self, std::move(piece)); };
  if (at != std::string::npos) {
    return Value::tuple(
        {part(text.substr(0, at)), part(separator), part(text.substr(at + separator.size()))});
  }
  return from_right ? Value::tuple({part(""), part(""), self}) : Value::tuple({self, part(""), part("")});
}

Value join(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("join", std::move(arguments), {""}, 1);
  Writer out(interpreter.budget());
  bool first = true;
  for (const Value& item : iterate(interpreter, parameters[0])) {
    if (!first) out << self.text();
    if (self.as_string().safe) {
      out << escape(interpreter.budget(), item).text();
    } else if (item.is(Kind::string)) {
      out << item.text();
    } else {
      fail(fmt::format("join() needs strings, not {}", type_name(item)));
    }
    first = false;
  }
  return Value::string(out.take(), self.as_string().safe);
}

Value replace_method(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("replace", std::move(arguments), {"", "", ""}, 2);
  const std::string old = joinable(interpreter, self, parameters.string(0));
  const std::string with = joinable(interpreter, self, parameters.string(1));
  return Value::string(replace(interpreter.budget(), self.text(), old, with, parameters.integer(2, -1)),
                       self.as_string().safe);
}

// --- padding ---

std::string fill_of(const Parameters& parameters, size_t i) {
  if (!parameters.given(i)) return " ";
  if (count_code_points(parameters.string(i)) != 1)
    fail("the fill character must be exactly one character long");
  return parameters.string(i);
}

enum class Side : uint8_t { left, right, both };

template <Side side>
Value padded(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("just", std::move(arguments), {"", ""}, 1);
  const std::string fill = fill_of(parameters, 1);
  const int64_t width = parameters.integer(0, 0);
  const String& string = self.as_string();
  if (side == Side::both) {
    return Value::string(center(interpreter.budget(), string, width, fill), string.safe);
  }
  const int64_t missing = width - string.length;
  Writer out(interpreter.budget());
  if (side == Side::left) out.repeat(fill, missing);
  out << string.text;
  if (side == Side::right) out.repeat(fill, missing);
  return Value::string(out.take(), string.safe);
}

Value zfill(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("zfill", std::move(arguments), {""}, 1);
  std::string_view text = self.text();
  Writer out(interpreter.budget());
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    out << text.substr(0, 1);
    text.remove_prefix(1);
  }
  out.repeat("0", parameters.integer(0, 0) - self.as_string().length);
  out << text;
  return derived(interpreter, self, out.take());
}

Value expandtabs(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("expandtabs", std::move(arguments), {"tabsize"});
  const int64_t size = parameters.integer(0, 8);
  Writer out(interpreter.budget());
  int64_t column = 0;
  const std::string& text = self.text();
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const char32_t c = decode(text, i);
    if (c == U'\t') {
      const int64_t spaces = size > 0 ? size - column % size : 0;
      out.repeat(" ", spaces);
      column += spaces;
    } else {
      out << std::string_view(text).substr(begin, i - begin);
      column = c == U'\n' || c == U'\r' ? 0 : column + 1;
    }
  }
  return derived(interpreter, self, out.take());
}

Value format_method(Interpreter& interpreter, const Value& self, Arguments arguments) {
  return Value::string(format_braces(interpreter, self.text(), arguments));
}

Value format_map(Interpreter& interpreter, const Value& self, Arguments arguments) {
  const Parameters parameters("format_map", std::move(arguments), {""}, 1);
  if (!parameters[0].is(Kind::dict)) fail("format_map() needs a dict");
  Arguments fields;
  for (const auto& [key, value] : parameters[0].as_dict().entries()) {
    if (key.is(Kind::string)) fields.named.emplace_back(key.text(), value);
  }
  return Value::string(format_braces(interpreter, self.text(), fields));
}

Value unsupported(Interpreter&, const Value&, Arguments) {
  fail("str.encode(), str.translate() and str.maketrans() are not supported");
}

constexpr NamedMethod kStringMethods[] = {
    {"capitalize", mapped<to_capitalized>},
    {"casefold", mapped<to_folded>},
    {"center", padded<Side::both>},
    {"count", count},
    {"encode", unsupported},
    {"endswith", affixed<false>},
    {"expandtabs", expandtabs},
    {"find", found<false, Missing::minus_one>},
    {"format", format_method},
    {"format_map", format_map},
    {"index", found<false, Missing::error>},
    {"isalnum", all_characters<is_alnum>},
    {"isalpha", all_characters<is_alpha>},
    {"isascii", all_characters<is_ascii, true>},
    {"isdecimal", all_characters<is_decimal>},
    {"isdigit", all_characters<is_digit>},
    {"isidentifier", isidentifier},
    {"islower", has_case<is_lower, is_upper>},
    {"isnumeric", all_characters<is_numeric>},
    {"isprintable", all_characters<is_printable, true>},
    {"isspace", all_characters<is_space>},
    {"istitle", istitle},
    {"isupper", has_case<is_upper, is_lower>},
    {"join", join},
    {"ljust", padded<Side::right>},
    {"lower", mapped<to_lower>},
    {"lstrip", stripped<true, false>},
    {"maketrans", unsupported},
    {"partition", partition<false>},
    {"removeprefix", removeprefix},
    {"removesuffix", removesuffix},
    {"replace", replace_method},
    {"rfind", found<true, Missing::minus_one>},
    {"rindex", found<true, Missing::error>},
    {"rjust", padded<Side::left>},
    {"rpartition", partition<true>},
    {"rsplit", split_method<true>},
    {"rstrip", stripped<false, true>},
    {"split", split_method<false>},
    {"splitlines", splitlines},
    {"startswith", affixed<true>},
    {"strip", stripped<true, true>},
    {"swapcase", mapped<to_swapped_case>},
    {"title", mapped<to_title>},
    {"translate", unsupported},
    {"upper", mapped<to_upper>},
    {"zfill", zfill},
};

// Runs of spaces separate; those at the ends do not count.
std::vector<std::string_view> split_spaces(std::string_view text, int64_t limit, bool from_right) {
  std::vector<std::string_view> parts;
  for (text = strip(text, nullptr, !from_right, from_right); !text.empty();
       text = strip(text, nullptr, !from_right, from_right)) {
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      parts.push_back(text);
      break;
    }
    size_t edge = from_right ? text.size() : 0;
    for (size_t next = edge; from_right ? next > 0 : next < text.size();) {
      if (is_space(from_right ? decode_before(text, next) : decode(text, next))) break;
      edge = next;
    }
    parts.push_back(from_right ? text.substr(edge) : text.substr(0, edge));
    text = from_right ? text.substr(0, edge) : text.substr(edge);
  }
  return parts;
}

// Where up to `limit` occurrences begin, in ascending order. From the right means searching mirrored text.
std::vector<size_t> find_places(std::string_view text, std::string_view wanted, int64_t limit,
                                bool from_right) {
  std::string mirrored_text, mirrored_wanted;
  if (from_right) {
    mirrored_text.assign(text.rbegin(), text.rend());
    mirrored_wanted.assign(wanted.rbegin(), wanted.rend());
  }
  const std::string_view haystack = from_right ? mirrored_text : text;
  const std::string_view needle = from_right ? mirrored_wanted : wanted;
  std::vector<size_t> places;
  for (size_t at = 0; limit < 0 || static_cast<int64_t>(places.size()) < limit; at += needle.size()) {
    at = find_bytes(haystack, needle, at);
    if (at == std::string_view::npos) break;
    places.push_back(from_right ? text.size() - at - needle.size() : at);
  }
  if (from_right) std::reverse(places.begin(), places.end());
  return places;
}

}  // namespace

std::span<const NamedMethod> string_methods() {
  return kStringMethods;
}

std::vector<std::string_view> split(std::string_view text, const std::string_view* separator, int64_t limit,
                                    bool from_right) {
  std::vector<std::string_view> parts;
  if (separator == nullptr) {
    parts = split_spaces(text, limit, from_right);
    if (from_right) std::reverse(parts.begin(), parts.end());
    return parts;
  }
  const std::vector<size_t> places = find_places(text, *separator, limit, from_right);
  size_t begin = 0;
  for (const size_t at : places) {
    parts.push_back(text.substr(begin, at - begin));
    begin = at + separator->size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string replace(Budget& budget, std::string_view text, std::string_view old, std::string_view with,
                    int64_t limit) {
  Writer out(budget);
  int64_t done = 0;
  const auto more = [&] { return limit < 0 || done < limit; };
  size_t begin = 0;
  if (old.empty()) {
    // Between all characters, and at both ends.
    for (size_t i = 0; more(); begin = i) {
      out << with;
      ++done;
      if (i >= text.size()) break;
      decode(text, i);
      out << text.substr(begin, i - begin);
    }
  } else {
    for (size_t at = 0; more() && (at = find_bytes(text, old, begin)) != std::string_view::npos; ++done) {
      out << text.substr(begin, at - begin) << with;
      begin = at + old.size();
    }
  }
  out << text.substr(std::min(begin, text.size()));
  return out.take();
}

std::string center(Budget& budget, const String& string, int64_t width, std::string_view fill) {
  const int64_t missing = std::max<int64_t>(width - string.length, 0);
  // As CPython: the odd one goes left when the width is odd too.
  const int64_t left = missing / 2 + (missing & width & 1);
  Writer out(budget);
  out.repeat(fill, left);
  out << string.text;
  out.repeat(fill, missing - left);
  return out.take();
}

}  // namespace indexshare::jinja
