// The chat template of a model: messages, tools and options in, the text of the prompt out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "indexshare/result.h"
#include "text/jinja/template.h"

namespace indexshare {

class ChatTemplate {
 public:
  /// `name` stands in errors, with the line.
  static Result<ChatTemplate> parse(std::string_view source, std::string_view name);

  /// `variables` is what the template may name: "messages", "tools", "add_generation_prompt", "bos_token" and
  /// whatever else the model's template reads. Messages are first made what templates expect of them, see
  /// normalize_messages(). May be called from several threads at once.
  Result<std::string> render(const Json& variables) const;

 private:
  explicit ChatTemplate(jinja::Template parsed) : template_(std::move(parsed)) {}

  jinja::Template template_;
};

/// Clients of OpenAI's API send an assistant's content as null, or none, beside tool calls, and the arguments
/// of a tool call as a string of JSON. Templates print the one as "None" and iterate over the other, so that
/// content becomes "" and arguments are parsed ("" becomes {}). The error names the message by its index.
Result<void> normalize_messages(Json& messages);

/// What a model says about its prompt beside the template itself.
struct SpecialTokens {
  std::optional<std::string> bos_token, eos_token, pad_token;

  /// Sets the variables of the same names, those that the model has.
  void add_to(Json& variables) const;
};

/// The template of a model: `path` is its folder (chat_template.jinja, else chat_template in
/// tokenizer_config.json) or a file of its own. Nullopt when the model has none.
Result<std::optional<ChatTemplate>> load_chat_template(const std::filesystem::path& path);

/// The special tokens in a model's tokenizer_config.json; none when there is no such file.
Result<SpecialTokens> load_special_tokens(const std::filesystem::path& model_dir);

}  // namespace indexshare
