#include "text/stand_ins.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "text/utf8.h"

namespace indexshare {

namespace {

constexpr CodePointRun kOfLength[] = {{0, 0x7f}, {0x80, 0x7ff}, {0x800, 0xffff}, {0x10000, 0x10ffff}};

/// Which of the runs hold c: a pattern that names those runs treats code points alike whose marks are equal.
std::vector<bool> marks(char32_t c, const std::vector<CodePointRun>& named) {
  std::vector<bool> result(named.size());
  for (size_t i = 0; i < named.size(); ++i) result[i] = named[i].first <= c && c <= named[i].last;
  return result;
}

bool is_unsettled(char32_t c) {
  const std::span<const CategoryRun> all = unsettled_categories();
  const auto run = std::lower_bound(all.begin(), all.end(), c,
                                    [](const CategoryRun& r, char32_t x) { return r.last < x; });
  return run != all.end() && run->first <= c;
}

/// The first settled code point of a category and length that the pattern treats as it treats `like`.
std::optional<char32_t> find_settled(Category category, char32_t like,
                                     const std::vector<CodePointRun>& named) {
  CodePointRun range = kOfLength[utf8_length(like) - 1];
  for (const CodePointRun& run : named) {  // narrows the search to a range that holds it
    if (run.first <= like && like <= run.last) {
      range = {std::max(range.first, run.first), std::min(range.last, run.last)};
    }
  }
  const std::vector<bool> wanted = marks(like, named);
  for (char32_t c = range.first; c <= range.last; ++c) {
    if (settled_category(c) == category && !is_unsettled(c) && marks(c, named) == wanted) return c;
  }
  return std::nullopt;
}

}  // namespace

Result<StandIns> StandIns::choose(const std::vector<CodePointRun>& named, std::string_view where) {
  // Within a stretch between two bounds all code points have one length and equal marks.
  std::vector<char32_t> bounds = {0x80, 0x800, 0x10000};
  for (const CodePointRun& run : named) {
    bounds.push_back(run.first);
    bounds.push_back(run.last + 1);
  }
  std::sort(bounds.begin(), bounds.end());

  std::map<std::tuple<Category, size_t, std::vector<bool>>, std::optional<char32_t>> chosen;
  StandIns result;
  for (const CategoryRun& run : unsettled_categories()) {
    for (char32_t first = run.first; first <= run.last;) {
      const auto bound = std::upper_bound(bounds.begin(), bounds.end(), first);
      const char32_t last =
          bound == bounds.end() ? run.last : std::min(run.last, static_cast<char32_t>(*bound - 1));
      const auto key = std::tuple(run.category, utf8_length(first), marks(first, named));
      auto [entry, is_new] = chosen.try_emplace(key);
      if (is_new) entry->second = find_settled(run.category, first, named);
      if (entry->second) {
        result.runs_.push_back({first, last, *entry->second});
        for (char32_t block = first / 256; block <= last / 256; ++block) result.touched_.set(block);
      } else if (run.category != Category::Cn) {
        return make_error("{}: the pattern treats U+{:04X} in a way that cannot be matched exactly", where,
                          static_cast<uint32_t>(first));
      }  // else PCRE2 sees an unassigned code point itself, and is right unless it is much newer
      first = last + 1;
    }
  }
  return result;
}

char32_t StandIns::find(char32_t c) const {
  const auto run =
      std::lower_bound(runs_.begin(), runs_.end(), c, [](const Run& r, char32_t x) { return r.last < x; });
  return run != runs_.end() && run->first <= c ? run->stand_in : c;
}

std::string_view StandIns::apply(std::string_view text, std::string& shadow) const {
  bool replaced = false;
  for (size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const Utf8Step step = utf8_step(text.substr(i));
    if (touched_[step.code_point / 256]) {
      if (const char32_t stand_in = find(step.code_point); stand_in != step.code_point) {
        if (!replaced) shadow.assign(text);
        replaced = true;
        std::string bytes;
        append_utf8(stand_in, bytes);
        shadow.replace(i, bytes.size(), bytes);
      }
    }
    i += step.length;
  }
  return replaced ? std::string_view(shadow) : text;
}

}  // namespace indexshare
