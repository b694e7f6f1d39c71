#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "text/regex_syntax.h"
#include "text/utf8.h"

namespace indexshare {

namespace {

using Code = std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)>;
using CompileContext = std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)>;
using MatchContext = std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)>;
using MatchData = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;
using JitStack = std::unique_ptr<pcre2_jit_stack, decltype(&pcre2_jit_stack_free)>;

constexpr int kOldestUnicode = 14;  // unsettled_categories() tells the differences from this on

int pcre2_unicode_version() {
  char version[32] = "0";
  pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version);
  return std::atoi(version);
}

std::string pcre2_message(int code) {
  unsigned char text[256];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

/// One search after another through a text, with more generous limits where the usual ones do not do.
class Search {
 public:
  Search(const pcre2_code* code, std::string_view text)
      : code_(code),
        text_(text),
        data_(pcre2_match_data_create(1, nullptr), pcre2_match_data_free),
        context_(nullptr, pcre2_match_context_free),
        stack_(nullptr, pcre2_jit_stack_free) {}

  /// The first match from byte `from` on.
  bool next(size_t from, Span& match) {
    if (!data_) return false;
    int status = run(from);
    const bool limited = status == PCRE2_ERROR_JIT_STACKLIMIT || status == PCRE2_ERROR_MATCHLIMIT ||
                         status == PCRE2_ERROR_HEAPLIMIT || status == PCRE2_ERROR_DEPTHLIMIT;
    if (limited && widen_limits()) status = run(from);
    if (status < 0) return false;  // no match, or none within the limits
    const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(data_.get());
    match = {offsets[0], offsets[1]};
    return true;
  }

 private:
  int run(size_t from) {
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), from,
                       PCRE2_NO_UTF_CHECK, data_.get(), context_.get());
  }

  /// Steps in proportion to the text, and a stack to match; false if that was done before.
  bool widen_limits() {
    if (context_) return false;
    context_.reset(pcre2_match_context_create(nullptr));
    stack_.reset(pcre2_jit_stack_create(size_t{64} << 10, size_t{256} << 20, nullptr));
    if (!context_ || !stack_) return false;
    const uint64_t steps = 10'000'000 + 64 * static_cast<uint64_t>(text_.size());
    pcre2_set_match_limit(context_.get(), static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX)));
    pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
    return true;
  }

  const pcre2_code* code_;
  std::string_view text_;
  MatchData data_;
  MatchContext context_;
  JitStack stack_;
};

}  // namespace

void Regex::Free::operator()(void* code) const {
  pcre2_code_free(static_cast<pcre2_code*>(code));
}

Result<Regex> Regex::compile(std::string_view pattern, std::string_view where) {
  if (pcre2_unicode_version() < kOldestUnicode) {
    return make_error("{}: the installed PCRE2 knows Unicode {}, and at least {} is needed", where,
                      pcre2_unicode_version(), kOldestUnicode);
  }
  ASSIGN_OR_RETURN(const RegexSyntax syntax, check_regex_syntax(pattern, where));
  ASSIGN_OR_RETURN(StandIns stand_ins, StandIns::choose(syntax.named, where));

  const CompileContext context(pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  if (!context) return make_error("{}: out of memory for the pattern", where);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int status = 0;
  PCRE2_SIZE offset = 0;
  const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options, &status,
                          &offset, context.get()),
            pcre2_code_free);
  if (!code) {
    return make_error("{}: the pattern \"{}\" is malformed at byte {}: {}", where, pattern, offset,
                      pcre2_message(status));
  }
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // where there is no JIT, PCRE2 interprets
  return Regex(code.release(), std::move(stand_ins));
}

Result<Regex> Regex::literal(std::string_view text, std::string_view where) {
  std::string pattern;
  for (const char c : text) {
    const bool is_word = (c & 0x80) != 0 || std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (!is_word) pattern += '\\';
    pattern += c;
  }
  return compile(pattern, where);
}

bool Regex::may_match_empty() const {
  uint32_t may = 1;
  pcre2_pattern_info(static_cast<const pcre2_code*>(code_.get()), PCRE2_INFO_MATCHEMPTY, &may);
  return may != 0;
}

void Regex::find_all(std::string_view text, std::vector<Span>& matches) const {
  if (text.empty()) return;
  std::string shadow;
  text = stand_ins_.apply(text, shadow);
  Search search(static_cast<const pcre2_code*>(code_.get()), text);
  size_t from = 0;
  size_t last_end = std::numeric_limits<size_t>::max();
  for (Span match; from <= text.size() && search.next(from, match);) {
    if (match.begin == match.end && match.end == last_end) {
      if (from == text.size()) return;
      from += utf8_step(text.substr(from)).length;
      continue;
    }
    matches.push_back(match);
    from = last_end = match.end;
  }
}

}  // namespace indexshare
