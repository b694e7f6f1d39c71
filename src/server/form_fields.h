// The fields that bind an answer to a form: the same for every route that generates.
#pragma once

#include <memory>
#include <span>

#include "api/chat_input.h"
#include "indexshare/engine.h"
#include "server/fields.h"

namespace indexshare::server {

std::span<const Field> form_fields();

/// Of a request that continues a text; what a conversation asks for is read with it.
void read_form(FieldReader& fields, const Engine& engine, const Json& body, GenerationRequest& request);

/// What binds an answer to a form; null, and a refusal, where the engine does not understand it.
std::shared_ptr<const Grammar> compile_form(FieldReader& fields, const Engine& engine,
                                            const api::AnswerForm& form);

/// Refuses by an error that begins with the path of the field: "messages[3].content is ...".
void refuse_by_path(FieldReader& fields, const Error& error);

}  // namespace indexshare::server
