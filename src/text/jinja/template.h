// A Jinja2 template, as chat templates of models are: jinja2 3.1's language in an immutable sandbox, with
// trim_blocks and lstrip_blocks on, loop controls, and transformers' tojson and {% generation %}.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "indexshare/result.h"
#include "text/jinja/budget.h"

namespace indexshare::jinja {

struct Syntax;

inline constexpr size_t kMaxTemplateBytes = size_t{1} << 20;

class Template {
 public:
  /// `name` stands in errors, with the line.
  static Result<Template> parse(std::string_view source, std::string_view name);

  /// `variables` must be an object. May be called from several threads at once.
  Result<std::string> render(const Json& variables, const Limits& limits = {}) const;

 private:
  Template(std::string name, std::shared_ptr<const Syntax> syntax);

  std::string name_;
  std::shared_ptr<const Syntax> syntax_;
};

}  // namespace indexshare::jinja
