// JSON to values and back: the variables of a rendering, and the tojson filter.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "text/jinja/value.h"

namespace indexshare::jinja {

/// Fails for text that is not UTF-8 and for nesting beyond kMaxValueDepth.
Value to_value(Budget& budget, const Json& json);

/// The parameters of Python's json.dumps.
struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;  // one level's worth; nullopt keeps all on one line
  std::string item_separator, key_separator;
  bool sort_keys = false;
};

/// Fails for what JSON cannot say (undefined values, functions, namespaces).
void write_json(Writer& out, const Value& value, const JsonStyle& style);

}  // namespace indexshare::jinja
