// Reads regular expressions as the reference does (Oniguruma, Ruby syntax) and refuses whatever PCRE2
// would take in another sense.
#pragma once

#include <string_view>
#include <vector>

#include "indexshare/result.h"
#include "text/unicode.h"

namespace indexshare {

/// What a pattern says about single code points beyond ASCII.
struct RegexSyntax {
  std::vector<CodePointRun> named;  // each character and range that the pattern spells out
};

/// Checks a pattern (valid UTF-8). Accepted: literals, classes of literals, ranges and properties,
/// \s \S \d \D, \p{..} of general categories, groups (plain, ?:, ?i:, ?>), look-around, alternatives,
/// anchors ^ $ \A \z \Z, quantifiers. `where` names the pattern in errors.
Result<RegexSyntax> check_regex_syntax(std::string_view pattern, std::string_view where);

}  // namespace indexshare
