#include "text/chat_template.h"

#include <fstream>
#include <iterator>

#include "base/error.h"

namespace indexshare {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMaxConfigBytes = 64 << 20;  // some models list 100,000 added tokens there

Result<std::string> read_file(const fs::path& path) {
  std::error_code code;
  const uintmax_t size = fs::file_size(path, code);
  if (code) return make_error("{}: cannot be read: {}", path.string(), code.message());
  if (size > kMaxConfigBytes) {
    return make_error("{}: {} bytes are more than the allowed {}", path.string(), size, kMaxConfigBytes);
  }
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return make_error("{}: cannot be read", path.string());
  return text;
}

// The object in tokenizer_config.json, nullopt when the model has no such file.
Result<std::optional<Json>> read_tokenizer_config(const fs::path& model_dir) {
  const fs::path path = model_dir / "tokenizer_config.json";
  if (!fs::exists(path)) return std::optional<Json>();
  ASSIGN_OR_RETURN(const std::string text, read_file(path));
  ASSIGN_OR_RETURN(Json config, parse_json(text, path.string()));
  if (!config.is_object())
    return make_error("{}: must be an object, not {}", path.string(), json_kind(config));
  return std::optional(std::move(config));
}

// The source in `chat_template`: a text, or a list of {"name", "template"} of which "default" counts.
Result<std::optional<std::string>> template_source(const Json& value, std::string_view where) {
  if (value.is_null()) return std::optional<std::string>();
  if (value.is_string()) return std::optional(value.get<std::string>());
  if (!value.is_array()) return make_error("{}: must be a string or a list, not {}", where, json_kind(value));
  for (const Json& entry : value) {
    const auto field = [&](const char* name) {
      return entry.is_object() && entry.contains(name) && entry[name].is_string();
    };
    if (!field("name") || !field("template")) {
      return make_error("{}: each entry must be an object with a \"name\" and a \"template\"", where);
    }
    if (entry["name"] == "default") return std::optional(entry["template"].get<std::string>());
  }
  return make_error("{}: none of its {} templates is named \"default\"", where, value.size());
}

Result<std::optional<std::string>> token_text(const Json& config, const char* key) {
  const auto token = config.find(key);
  if (token == config.end() || token->is_null()) return std::optional<std::string>();
  if (token->is_string()) return std::optional(token->get<std::string>());
  if (token->is_object() && token->contains("content") && (*token)["content"].is_string()) {
    return std::optional((*token)["content"].get<std::string>());
  }
  return make_error("tokenizer_config.json: \"{}\" must be a string or an object with \"content\", not {}",
                    key, json_kind(*token));
}

Result<void> normalize_tool_call(Json& call, std::string_view where) {
  if (!call.is_object()) return {};
  const auto function = call.find("function");
  Json& holder = function != call.end() && function->is_object() ? *function : call;
  const auto arguments = holder.find("arguments");
  if (arguments == holder.end() || !arguments->is_string()) return {};
  const std::string text = arguments->get<std::string>();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    *arguments = Json::object();
    return {};
  }
  ASSIGN_OR_RETURN(*arguments, parse_json(text, fmt::format("{}.arguments", where)));
  return {};
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, std::string_view name) {
  ASSIGN_OR_RETURN(jinja::Template parsed, jinja::Template::parse(source, name));
  return ChatTemplate(std::move(parsed));
}

Result<std::string> ChatTemplate::render(const Json& variables) const {
  Json normalized = variables;
  if (normalized.is_object()) {
    if (const auto messages = normalized.find("messages"); messages != normalized.end()) {
      RETURN_IF_ERROR(normalize_messages(*messages));
    }
  }
  return template_.render(normalized);
}

Result<void> normalize_messages(Json& messages) {
  if (!messages.is_array()) return make_error("messages must be an array, not {}", json_kind(messages));
  for (size_t i = 0; i < messages.size(); ++i) {
    Json& message = messages[i];
    if (!message.is_object())
      return make_error("messages[{}] must be an object, not {}", i, json_kind(message));
    const auto role = message.find("role");
    const bool assistant = role != message.end() && *role == "assistant";
    if (const auto content = message.find("content");
        assistant && content != message.end() && content->is_null()) {
      *content = "";
    } else if (assistant && content == message.end()) {
      message["content"] = "";
    }
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || !calls->is_array()) continue;
    for (size_t k = 0; k < calls->size(); ++k) {
      RETURN_IF_ERROR(normalize_tool_call((*calls)[k], fmt::format("messages[{}].tool_calls[{}]", i, k)));
    }
  }
  return {};
}

void SpecialTokens::add_to(Json& variables) const {
  if (bos_token) variables["bos_token"] = *bos_token;
  if (eos_token) variables["eos_token"] = *eos_token;
  if (pad_token) variables["pad_token"] = *pad_token;
}

Result<std::optional<ChatTemplate>> load_chat_template(const fs::path& path) {
  const fs::path file = fs::is_directory(path) ? path / "chat_template.jinja" : path;
  if (file == path || fs::exists(file)) {
    ASSIGN_OR_RETURN(const std::string source, read_file(file));
    ASSIGN_OR_RETURN(ChatTemplate parsed, ChatTemplate::parse(source, file.string()));
    return std::optional(std::move(parsed));
  }
  ASSIGN_OR_RETURN(const std::optional<Json> config, read_tokenizer_config(path));
  if (!config || !config->contains("chat_template")) return std::optional<ChatTemplate>();
  const std::string where = (path / "tokenizer_config.json").string() + ", chat_template";
  ASSIGN_OR_RETURN(const std::optional<std::string> source,
                   template_source((*config)["chat_template"], where));
  if (!source) return std::optional<ChatTemplate>();
  ASSIGN_OR_RETURN(ChatTemplate parsed, ChatTemplate::parse(*source, where));
  return std::optional(std::move(parsed));
}

Result<SpecialTokens> load_special_tokens(const fs::path& model_dir) {
  ASSIGN_OR_RETURN(const std::optional<Json> config, read_tokenizer_config(model_dir));
  SpecialTokens tokens;
  if (!config) return tokens;
  ASSIGN_OR_RETURN(tokens.bos_token, token_text(*config, "bos_token"));
  ASSIGN_OR_RETURN(tokens.eos_token, token_text(*config, "eos_token"));
  ASSIGN_OR_RETURN(tokens.pad_token, token_text(*config, "pad_token"));
  return tokens;
}

}  // namespace indexshare
