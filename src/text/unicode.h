// The reference tokenizer's view of Unicode, whatever versions the installed libraries know.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace indexshare {

/// General categories.
enum class Category : uint8_t {
  Cn,
  Lu,
  Ll,
  Lt,
  Lm,
  Lo,
  Mn,
  Mc,
  Me,
  Nd,
  Nl,
  No,
  Pc,
  Pd,
  Ps,
  Pe,
  Pi,
  Pf,
  Po,
  Sm,
  Sc,
  Sk,
  So,
  Zs,
  Zl,
  Zp,
  Cc,
  Cf,
  Cs,
  Co
};

struct CodePointRun {
  char32_t first, last;
};

struct CategoryRun {
  char32_t first, last;
  Category category;
};

/// Code points about whose category Unicode 14 and later versions disagree, with their category in the
/// reference's version (16); ascending.
std::span<const CategoryRun> unsettled_categories();

/// The category of a code point (one that is not unsettled).
Category settled_category(char32_t c);

/// Unicode's White_Space.
bool is_white_space(char32_t c);

enum class NormalForm : uint8_t { nfc, nfd, nfkc, nfkd };

/// `text` (valid UTF-8) in a normal form. Linear but for sorting runs of combining marks (n log n).
std::string normalize(std::string_view text, NormalForm form);

}  // namespace indexshare
