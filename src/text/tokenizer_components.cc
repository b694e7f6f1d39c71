#include "text/tokenizer_components.h"

#include <optional>
#include <string>
#include <vector>

namespace indexshare {

namespace {

/// What GPT-2 splits by, which ByteLevel does with use_regex.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Error unsupported(const JsonNode& node, std::string_view type, std::string_view expected) {
  return make_error("{}.type is \"{}\", which is not supported (expected {})", node.where(), type, expected);
}

/// Calls `read(node, type)` for a component, or for each of a Sequence's, however nested.
template <typename Read>
Result<void> for_each_component(const JsonNode& node, std::string_view list_key, const Read& read) {
  ASSIGN_OR_RETURN(const JsonNode type_node, node.get("type"));
  ASSIGN_OR_RETURN(const std::string_view type, type_node.string());
  if (type != "Sequence") return read(node, type);
  ASSIGN_OR_RETURN(const JsonNode list, node.get(list_key));
  ASSIGN_OR_RETURN(const simdjson::dom::array items, list.array());
  size_t i = 0;
  for (const simdjson::dom::element item : items) {
    RETURN_IF_ERROR(for_each_component(list.item(i++, item), list_key, read));
  }
  return {};
}

/// {"Regex": ".."} or {"String": ".."}.
Result<Regex> read_pattern(const JsonNode& component) {
  ASSIGN_OR_RETURN(const JsonNode pattern, component.get("pattern"));
  ASSIGN_OR_RETURN(const std::optional<JsonNode> regex, pattern.find("Regex"));
  if (regex) {
    ASSIGN_OR_RETURN(const std::string_view text, regex->string());
    return Regex::compile(text, regex->where());
  }
  ASSIGN_OR_RETURN(const std::optional<JsonNode> literal, pattern.find("String"));
  if (literal) {
    ASSIGN_OR_RETURN(const std::string_view text, literal->string());
    return Regex::literal(text, literal->where());
  }
  return make_error("{} has neither \"Regex\" nor \"String\"", pattern.where());
}

Result<Normalizer::Step> read_normalizer_step(const JsonNode& node, std::string_view type) {
  using Step = Normalizer::Step;
  if (type == "NFC") return Step(NormalForm::nfc);
  if (type == "NFD") return Step(NormalForm::nfd);
  if (type == "NFKC") return Step(NormalForm::nfkc);
  if (type == "NFKD") return Step(NormalForm::nfkd);
  if (type == "Replace") {
    ASSIGN_OR_RETURN(Regex pattern, read_pattern(node));
    if (pattern.may_match_empty())
      return make_error("{}.pattern may match nothing, which is not supported", node.where());
    ASSIGN_OR_RETURN(const JsonNode content, node.get("content"));
    ASSIGN_OR_RETURN(const std::string_view text, content.string());
    return Step(Normalizer::Replace{std::move(pattern), std::string(text)});
  }
  if (type == "Prepend") {
    ASSIGN_OR_RETURN(const JsonNode content, node.get("prepend"));
    ASSIGN_OR_RETURN(const std::string_view text, content.string());
    return Step(Normalizer::Prepend{std::string(text)});
  }
  if (type == "Strip") {
    ASSIGN_OR_RETURN(const bool left, node.boolean_or("strip_left", true));
    ASSIGN_OR_RETURN(const bool right, node.boolean_or("strip_right", true));
    return Step(Normalizer::Strip{left, right});
  }
  return unsupported(node, type, "NFC, NFD, NFKC, NFKD, Replace, Prepend, Strip or Sequence");
}

Result<SplitBehavior> read_behavior(const JsonNode& component) {
  ASSIGN_OR_RETURN(const JsonNode node, component.get("behavior"));
  ASSIGN_OR_RETURN(const std::string_view name, node.string());
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  return make_error(
      "{} is \"{}\", expected Removed, Isolated, Contiguous, MergedWithPrevious or MergedWithNext",
      node.where(), name);
}

Result<PreTokenizer::Split> read_split(const JsonNode& node, std::string_view type) {
  if (type == "Split") {
    ASSIGN_OR_RETURN(Regex pattern, read_pattern(node));
    ASSIGN_OR_RETURN(const SplitBehavior behavior, read_behavior(node));
    ASSIGN_OR_RETURN(const bool invert, node.boolean_or("invert", false));
    return PreTokenizer::Split{std::move(pattern), behavior, invert};
  }
  if (type == "Digits") {
    ASSIGN_OR_RETURN(const bool individual, node.boolean_or("individual_digits", false));
    ASSIGN_OR_RETURN(Regex pattern, Regex::compile(R"(\p{N})", node.where()));
    return PreTokenizer::Split{std::move(pattern),
                               individual ? SplitBehavior::isolated : SplitBehavior::contiguous, false};
  }
  if (type == "WhitespaceSplit") {
    ASSIGN_OR_RETURN(Regex pattern, Regex::compile(R"(\s)", node.where()));
    return PreTokenizer::Split{std::move(pattern), SplitBehavior::removed, false};
  }
  return unsupported(node, type, "Split, Digits, WhitespaceSplit, ByteLevel or Sequence");
}

Result<PreTokenizer::ByteLevel> read_byte_level(const JsonNode& node) {
  PreTokenizer::ByteLevel step{};
  ASSIGN_OR_RETURN(step.add_prefix_space, node.boolean_or("add_prefix_space", true));
  ASSIGN_OR_RETURN(const bool use_regex, node.boolean_or("use_regex", true));
  if (use_regex) {
    ASSIGN_OR_RETURN(step.pattern, Regex::compile(kByteLevelPattern, node.where()));
  }
  return step;
}

}  // namespace

Result<Normalizer> read_normalizer(const JsonNode& document) {
  std::vector<Normalizer::Step> steps;
  ASSIGN_OR_RETURN(const std::optional<JsonNode> node, document.find("normalizer"));
  if (node) {
    RETURN_IF_ERROR(
        for_each_component(*node, "normalizers", [&](const JsonNode& step_node, std::string_view type) {
          Result<Normalizer::Step> step = read_normalizer_step(step_node, type);
          if (!step) return Result<void>(step.error());
          steps.push_back(std::move(step).value());
          return Result<void>();
        }));
  }
  return Normalizer(std::move(steps));
}

Result<PreTokenizer> read_pre_tokenizer(const JsonNode& document) {
  ASSIGN_OR_RETURN(const JsonNode node, document.get("pre_tokenizer"));
  std::vector<PreTokenizer::Split> splits;
  std::optional<PreTokenizer::ByteLevel> byte_level;
  RETURN_IF_ERROR(for_each_component(
      node, "pretokenizers", [&](const JsonNode& step, std::string_view type) -> Result<void> {
        if (byte_level)
          return make_error("{} follows ByteLevel, which is supported as the last step only", step.where());
        if (type == "ByteLevel") {
          ASSIGN_OR_RETURN(byte_level, read_byte_level(step));
        } else {
          ASSIGN_OR_RETURN(PreTokenizer::Split split, read_split(step, type));
          splits.push_back(std::move(split));
        }
        return {};
      }));
  if (!byte_level)
    return make_error("{} has no ByteLevel: only byte-level tokenizers are supported", node.where());
  return PreTokenizer(std::move(splits), *std::move(byte_level));
}

Result<void> check_decoder(const JsonNode& document) {
  ASSIGN_OR_RETURN(const JsonNode node, document.get("decoder"));
  bool seen = false;
  RETURN_IF_ERROR(
      for_each_component(node, "decoders", [&](const JsonNode& step, std::string_view type) -> Result<void> {
        const bool supported = seen ? type == "Fuse" : type == "ByteLevel";
        if (!supported) return unsupported(step, type, seen ? "Fuse behind ByteLevel" : "ByteLevel");
        seen = true;
        return {};
      }));
  if (!seen) return make_error("{} has no ByteLevel: only byte-level tokenizers are supported", node.where());
  return {};
}

Result<void> check_post_processor(const JsonNode& document) {
  ASSIGN_OR_RETURN(const std::optional<JsonNode> node, document.find("post_processor"));
  if (!node) return {};
  return for_each_component(
      *node, "processors", [](const JsonNode& step, std::string_view type) -> Result<void> {
        const bool known = type == "ByteLevel" || type == "TemplateProcessing" ||
                           type == "RobertaProcessing" || type == "BertProcessing";
        if (!known) {
          return unsupported(step, type,
                             "ByteLevel, TemplateProcessing, RobertaProcessing, BertProcessing or Sequence");
        }
        return {};
      });
}

}  // namespace indexshare
