// The form that an answer is to have, by all the names that clients have for it.
#pragma once

#include <optional>
#include <string>

#include "api/chat_input.h"
#include "api/request_value.h"
#include "indexshare/constraint.h"
#include "indexshare/result.h"

namespace indexshare::api {

/// What a request says of the form, in one of
/// - "response_format", "text"."format", "output_config"."format", "output_format": text, json_object,
///   json_schema or structural_tag;
/// - "structured_outputs" with one of json, json_object, regex, choice, grammar and structural_tag;
/// - the older "guided_json", "guided_regex", "guided_choice" and "guided_grammar";
/// - "json_schema", "regex" and "ebnf".
Result<std::optional<AnswerForm>> read_asked_form(const RequestValue& body);

/// Sets `form` of an input whose tools have been read: where a call is forced, it is that of GLM's own calls,
/// one or more, by the schemas of the tools; where calls are allowed, what is asked for or calls.
Result<void> read_answer_form(const RequestValue& body, ChatInput& input);

}  // namespace indexshare::api
