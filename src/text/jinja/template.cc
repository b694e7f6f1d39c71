#include "text/jinja/template.h"

#include "base/error.h"
#include "text/jinja/ast.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"

namespace indexshare::jinja {
namespace {

// The boundary of the folder: what is thrown inside ends here.
template <typename T, typename Run>
Result<T> guarded(std::string_view name, Run run) {
  try {
    return run();
  } catch (const Failure& failure) {
    if (failure.line > 0) return make_error("{}, line {}: {}", name, failure.line, failure.message);
    return make_error("{}: {}", name, failure.message);
  } catch (const std::exception& e) {
    return make_error("{}: {}", name, e.what());
  }
}

}  // namespace

Template::Template(std::string name, std::shared_ptr<const Syntax> syntax)
    : name_(std::move(name)), syntax_(std::move(syntax)) {}

Result<Template> Template::parse(std::string_view source, std::string_view name) {
  if (source.size() > kMaxTemplateBytes) {
    return make_error("{}: a template of {} bytes is larger than the allowed {}", name, source.size(),
                      kMaxTemplateBytes);
  }
  return guarded<Template>(name, [&] {
    return Template(std::string(name), std::make_shared<const Syntax>(jinja::parse(source)));
  });
}

Result<std::string> Template::render(const Json& variables, const Limits& limits) const {
  if (!variables.is_object()) {
    return make_error("{}: the variables must be an object, not {}", name_, json_kind(variables));
  }
  return guarded<std::string>(name_, [&] {
    Budget budget(limits);
    return Interpreter(*syntax_, variables, budget).render();
  });
}

}  // namespace indexshare::jinja
