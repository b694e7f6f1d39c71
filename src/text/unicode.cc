#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "text/utf8.h"

namespace indexshare {

namespace {

#include "text/unicode_table.inc"

/// Whether the reference's normalizers leave `c` alone as they do an unassigned code point.
bool is_inert(char32_t c) {
  const auto inert = std::lower_bound(std::begin(kInert), std::end(kInert), c,
                                      [](const CodePointRun& run, char32_t x) { return run.last < x; });
  if (inert != std::end(kInert) && inert->first <= c) return true;
  const auto run = std::lower_bound(std::begin(kCategories), std::end(kCategories), c,
                                    [](const CategoryRun& r, char32_t x) { return r.last < x; });
  return run != std::end(kCategories) && run->first <= c && run->category == Category::Cn;
}

int combining_class(char32_t c) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

/// Normalizes stretches of code points that are not inert. (utf8proc's own entry point would not do: it
/// sorts combining marks in quadratic time.)
class Stretch {
 public:
  explicit Stretch(NormalForm form) : composes_(form == NormalForm::nfc || form == NormalForm::nfkc) {
    int options = UTF8PROC_STABLE | (composes_ ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE);
    if (form == NormalForm::nfkc || form == NormalForm::nfkd) options |= UTF8PROC_COMPAT;
    options_ = static_cast<utf8proc_option_t>(options);
  }

  void add(char32_t c) {
    std::array<utf8proc_int32_t, 32> parts;  // the longest decomposition is U+FDFA's 18
    int boundary = 0;
    const utf8proc_ssize_t n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                                       parts.size(), options_, &boundary);
    if (n < 0 || n > static_cast<utf8proc_ssize_t>(parts.size())) {
      parts_.push_back(static_cast<utf8proc_int32_t>(c));
    } else {
      parts_.insert(parts_.end(), parts.begin(), parts.begin() + n);
    }
  }

  void flush(std::string& out) {
    if (parts_.empty()) return;
    sort_marks();
    utf8proc_ssize_t size = static_cast<utf8proc_ssize_t>(parts_.size());
    if (composes_)
      size = std::max<utf8proc_ssize_t>(0, utf8proc_normalize_utf32(parts_.data(), size, options_));
    for (utf8proc_ssize_t i = 0; i < size; ++i) append_utf8(static_cast<char32_t>(parts_[i]), out);
    parts_.clear();
  }

 private:
  /// Puts each run of marks into the order of their combining classes.
  void sort_marks() {
    const auto is_mark = [](utf8proc_int32_t c) { return combining_class(static_cast<char32_t>(c)) != 0; };
    for (auto begin = parts_.begin(); begin != parts_.end();) {
      begin = std::find_if(begin, parts_.end(), is_mark);
      const auto end = std::find_if_not(begin, parts_.end(), is_mark);
      if (end - begin > 1) {
        std::stable_sort(begin, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
          return combining_class(static_cast<char32_t>(a)) < combining_class(static_cast<char32_t>(b));
        });
      }
      begin = end;
    }
  }

  bool composes_;
  utf8proc_option_t options_;
  std::vector<utf8proc_int32_t> parts_;
};

/// Whether every code point of `text` is below a bound under which the form changes nothing.
bool is_normal_already(std::string_view text, NormalForm form) {
  const uint8_t bound = form == NormalForm::nfc ? 0xcc : 0x80;  // 0xcc begins U+0300, the first mark
  return std::all_of(text.begin(), text.end(), [&](char byte) {
    const uint8_t b = static_cast<uint8_t>(byte);
    return b < bound;
  });
}

}  // namespace

std::span<const CategoryRun> unsettled_categories() {
  return kCategories;
}

// Category lists the values in utf8proc's order.
static_assert(static_cast<int>(Category::Zs) == UTF8PROC_CATEGORY_ZS);
static_assert(static_cast<int>(Category::Co) == UTF8PROC_CATEGORY_CO);

Category settled_category(char32_t c) {
  return static_cast<Category>(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
}

bool is_white_space(char32_t c) {
  return (c >= 0x9 && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

std::string normalize(std::string_view text, NormalForm form) {
  if (is_normal_already(text, form)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  Stretch stretch(form);
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    if (step.code_point >= 0x300 && is_inert(step.code_point)) {
      stretch.flush(out);
      append_utf8(step.code_point, out);
    } else {
      stretch.add(step.code_point);
    }
    text.remove_prefix(step.length);
  }
  stretch.flush(out);
  return out;
}

}  // namespace indexshare
