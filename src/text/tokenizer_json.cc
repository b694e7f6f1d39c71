#include "text/tokenizer_json.h"

#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "text/json_node.h"
#include "text/tokenizer_components.h"

namespace indexshare {

namespace {

/// A word character as Rust's regular expressions have it (Unicode, UTS 18 annex C): alphabetic, marks,
/// decimal digits, connectors, joiners. The ranges are the alphabetic symbols.
constexpr std::string_view kWordCharacter =
    R"([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169})"
    R"(\x{1f170}-\x{1f189}])";

/// Puts the place before an error that names none.
Result<void> located(const Result<void>& result, const JsonNode& node) {
  if (!result) return make_error("{}: {}", node.where(), result.error().message);
  return {};
}

/// Refuses the options of the model that would change what encode() does.
Result<void> check_model_options(const JsonNode& model) {
  ASSIGN_OR_RETURN(const std::string_view type, model.string_or("type", "BPE"));
  if (type != "BPE") return make_error("{}.type is \"{}\", expected \"BPE\"", model.where(), type);
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    ASSIGN_OR_RETURN(const std::string_view affix, model.string_or(key, ""));
    if (!affix.empty())
      return make_error("{}.{} is \"{}\", which is not supported", model.where(), key, affix);
  }
  ASSIGN_OR_RETURN(const std::optional<JsonNode> dropout, model.find("dropout"));
  double value = 0;
  if (dropout && (dropout->element().get(value) != simdjson::SUCCESS || value != 0)) {
    return make_error("{} is set, which is not supported: encoding would be random", dropout->where());
  }
  return {};
}

Result<Vocabulary> read_vocabulary(const JsonNode& model) {
  ASSIGN_OR_RETURN(const JsonNode node, model.get("vocab"));
  ASSIGN_OR_RETURN(const simdjson::dom::object tokens, node.object());
  Vocabulary vocabulary(tokens.size());
  for (const simdjson::dom::key_value_pair token : tokens) {
    int64_t id = -1;
    if (token.value.get(id) != simdjson::SUCCESS) {
      return make_error("{}: the id of the token \"{}\" is no integer", node.where(), token.key);
    }
    RETURN_IF_ERROR(located(vocabulary.add(token.key, id, Vocabulary::Kind::model), node));
  }
  return vocabulary;
}

/// Both spellings of a merge: "a b" and ["a", "b"].
bool read_merge(simdjson::dom::element merge, std::string_view& left, std::string_view& right) {
  std::string_view text;
  if (merge.get(text) == simdjson::SUCCESS) {
    const size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) return false;
    left = text.substr(0, space);
    right = text.substr(space + 1);
    return true;
  }
  simdjson::dom::array pair;
  return merge.get(pair) == simdjson::SUCCESS && pair.size() == 2 &&
         pair.at(0).get(left) == simdjson::SUCCESS && pair.at(1).get(right) == simdjson::SUCCESS;
}

Result<Bpe> read_merges(const JsonNode& model, const Vocabulary& vocabulary) {
  ASSIGN_OR_RETURN(const bool ignore_merges, model.boolean_or("ignore_merges", false));
  ASSIGN_OR_RETURN(const JsonNode node, model.get("merges"));
  ASSIGN_OR_RETURN(const simdjson::dom::array merges, node.array());
  Result<Bpe> bpe =
      Bpe::create(vocabulary, ignore_merges, std::min<size_t>(merges.size(), Vocabulary::kMaxTokens));
  if (!bpe) return make_error("{}.vocab: {}", model.where(), bpe.error().message);
  size_t i = 0;
  for (const simdjson::dom::element merge : merges) {
    std::string_view left, right;
    if (!read_merge(merge, left, right)) {
      return make_error("{}[{}] is no pair of tokens, written \"a b\" or [\"a\", \"b\"]", node.where(), i);
    }
    const Result<void> added = bpe->add_merge(vocabulary, left, right);
    if (!added) return make_error("{}[{}]: {}", node.where(), i, added.error().message);
    ++i;
  }
  return bpe;
}

Result<AddedToken> read_added_token(const JsonNode& node) {
  AddedToken token;
  ASSIGN_OR_RETURN(const JsonNode content_node, node.get("content"));
  ASSIGN_OR_RETURN(const std::string_view content, content_node.string());
  token.content = content;
  ASSIGN_OR_RETURN(const JsonNode id_node, node.get("id"));
  ASSIGN_OR_RETURN(const int64_t id, id_node.integer());
  if (id < 0 || id >= Vocabulary::kMaxTokens) {
    return make_error("{} is {}, expected 0 to {}", id_node.where(), id, Vocabulary::kMaxTokens - 1);
  }
  token.id = static_cast<int32_t>(id);
  ASSIGN_OR_RETURN(token.special, node.boolean_or("special", false));
  ASSIGN_OR_RETURN(token.single_word, node.boolean_or("single_word", false));
  ASSIGN_OR_RETURN(token.lstrip, node.boolean_or("lstrip", false));
  ASSIGN_OR_RETURN(token.rstrip, node.boolean_or("rstrip", false));
  ASSIGN_OR_RETURN(token.normalized, node.boolean_or("normalized", !token.special));
  return token;
}

/// Reads the added tokens and enters into the vocabulary those that it lacks.
Result<std::vector<AddedToken>> read_added_tokens(const JsonNode& document, Vocabulary& vocabulary) {
  std::vector<AddedToken> tokens;
  ASSIGN_OR_RETURN(const std::optional<JsonNode> node, document.find("added_tokens"));
  if (!node) return tokens;
  ASSIGN_OR_RETURN(const simdjson::dom::array items, node->array());
  std::unordered_set<int32_t> seen;
  for (const simdjson::dom::element element : items) {
    const JsonNode item = node->item(tokens.size(), element);
    ASSIGN_OR_RETURN(AddedToken token, read_added_token(item));
    if (token.content.empty()) return make_error("{}.content is empty", item.where());
    const std::optional<int32_t> known = vocabulary.find(token.content);
    if (known && *known != token.id) {
      return make_error("{}: the token \"{}\" has two ids, {} and {}", item.where(), token.content, *known,
                        token.id);
    }
    if (!seen.insert(token.id).second) return make_error("{} repeats \"{}\"", item.where(), token.content);
    if (!known)
      RETURN_IF_ERROR(located(vocabulary.add(token.content, token.id, Vocabulary::Kind::added), item));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

struct AddedTokenFinders {
  AddedTokenFinder verbatim, normalized;
};

Result<AddedTokenFinders> make_finders(std::vector<AddedToken> tokens, const Normalizer& normalizer,
                                       std::string_view source) {
  std::vector<AddedToken> verbatim, normalized;
  std::unordered_map<std::string, std::string> unnormalized;
  for (AddedToken& token : tokens) {
    if (!token.normalized) {
      verbatim.push_back(std::move(token));
      continue;
    }
    std::string content = normalizer.apply(token.content);
    if (content.empty()) {
      return make_error("{}: the added token \"{}\" is nothing once normalized", source, token.content);
    }
    const auto [other, is_new] = unnormalized.emplace(content, token.content);
    if (!is_new) {
      return make_error("{}: the added tokens \"{}\" and \"{}\" are the same once normalized", source,
                        other->second, token.content);
    }
    token.content = std::move(content);
    normalized.push_back(std::move(token));
  }
  return AddedTokenFinders{AddedTokenFinder(std::move(verbatim)), AddedTokenFinder(std::move(normalized))};
}

}  // namespace

Result<TokenizerParts> parse_tokenizer_json(std::string_view json, std::string_view source) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  const simdjson::error_code status = parser.parse(json.data(), json.size(), true).get(root);
  if (status != simdjson::SUCCESS) {
    return make_error("{} is not valid JSON: {}", source, simdjson::error_message(status));
  }
  const JsonNode document(root, source);
  ASSIGN_OR_RETURN(const std::string_view version, document.string_or("version", "1.0"));
  if (version != "1.0") return make_error("{}: version is \"{}\", expected \"1.0\"", source, version);

  ASSIGN_OR_RETURN(const JsonNode model, document.get("model"));
  RETURN_IF_ERROR(check_model_options(model));
  ASSIGN_OR_RETURN(Vocabulary vocabulary, read_vocabulary(model));
  ASSIGN_OR_RETURN(Bpe bpe, read_merges(model, vocabulary));
  ASSIGN_OR_RETURN(Normalizer normalizer, read_normalizer(document));
  ASSIGN_OR_RETURN(PreTokenizer pre_tokenizer, read_pre_tokenizer(document));
  RETURN_IF_ERROR(check_decoder(document));
  RETURN_IF_ERROR(check_post_processor(document));

  ASSIGN_OR_RETURN(std::vector<AddedToken> added, read_added_tokens(document, vocabulary));
  std::vector<bool> is_special(vocabulary.size());
  for (const AddedToken& token : added) is_special[token.id] = token.special;
  ASSIGN_OR_RETURN(AddedTokenFinders finders, make_finders(std::move(added), normalizer, source));
  ASSIGN_OR_RETURN(Regex word_character, Regex::compile(kWordCharacter, source));
  return TokenizerParts{std::move(vocabulary),       std::move(bpe),
                        std::move(normalizer),       std::move(pre_tokenizer),
                        std::move(finders.verbatim), std::move(finders.normalized),
                        std::move(word_character),   std::move(is_special)};
}

}  // namespace indexshare
