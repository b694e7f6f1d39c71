#include "server/form_fields.h"

#include <utility>

#include "api/answer_form.h"
#include "base/error.h"

namespace indexshare::server {
namespace {

constexpr Field kFields[] = {
    {"response_format", "an object", "type: text, json_object, json_schema or structural_tag"},
    {"structured_outputs", "an object",
     "one of json, json_object, regex, choice, grammar and structural_tag"},
    {"guided_json", "an object or its text", "a schema: the answer is JSON by it; also json_schema"},
    {"guided_regex", "a text", "a regular expression: the whole answer matches it; also regex"},
    {"guided_choice", "a list of texts", "the answer is one of them"},
    {"guided_grammar", "a text", "an EBNF grammar: the answer is of it; also ebnf"},
};

std::string name_of(std::string_view path) {
  return std::string(path.substr(0, path.find_first_of(" .[:")));
}

}  // namespace

std::span<const Field> form_fields() {
  return kFields;
}

void refuse_by_path(FieldReader& fields, const Error& error) {
  fields.refuse(name_of(error.message), error.message);
}

std::shared_ptr<const Grammar> compile_form(FieldReader& fields, const Engine& engine,
                                            const api::AnswerForm& form) {
  Result<std::shared_ptr<const Grammar>> grammar = engine.compile(form.constraint);
  if (grammar.ok()) return std::move(*grammar);
  fields.refuse(name_of(form.field), fmt::format("{}: {}", form.field, grammar.error().message));
  return nullptr;
}

void read_form(FieldReader& fields, const Engine& engine, const Json& body, GenerationRequest& request) {
  if (fields.refusal()) return;
  Result<std::optional<api::AnswerForm>> form = api::read_asked_form(api::RequestValue(body));
  if (!form.ok()) return refuse_by_path(fields, form.error());
  if (*form) request.grammar = compile_form(fields, engine, **form);
}

}  // namespace indexshare::server
