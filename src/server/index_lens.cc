// POST /v1/index-lens: what the index of each full layer selected where an answer was written.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <utility>

#include "api/chat_completions.h"
#include "base/error.h"
#include "engine/model_runner.h"
#include "model/flops.h"
#include "server/call.h"
#include "server/chat_prompt.h"
#include "server/openai.h"

namespace indexshare::server {
namespace {

constexpr int64_t kMaxLast = 512;                // a pass between two steps of other requests
constexpr int64_t kMaxBytes = int64_t{4} << 20;  // of selections in an answer

enum Place : size_t { messages, last };

constexpr Field kFields[] = {
    {"messages", "a list of objects with a role", "the conversation, which ends with the answer to look at"},
    {"last", "a whole number",
     "how many of the answer's last tokens to look at (512, or what there are, or what is not too much)", 1,
     kMaxLast},
};

// Selections, [full layers, tokens, bytes per token]: a bit for each position of the sequence.
class SelectionBits {
 public:
  SelectionBits(int64_t layers, int64_t tokens, int64_t length)
      : tokens_(tokens), stride_(bytes_per_token(length)) {
    bytes_.resize(static_cast<size_t>(layers * tokens_ * stride_));
  }

  static int64_t bytes_per_token(int64_t length) { return (length + 7) / 8; }

  void set(int64_t layer, int64_t token, int32_t position) {
    const int64_t byte = (layer * tokens_ + token) * stride_ + position / 8;
    bytes_[static_cast<size_t>(byte)] |= static_cast<uint8_t>(1 << position % 8);
  }

  std::span<const uint8_t> of_layer(int64_t layer) const {
    const auto size = static_cast<size_t>(tokens_ * stride_);
    return std::span(bytes_).subspan(static_cast<size_t>(layer) * size, size);
  }

 private:
  int64_t tokens_, stride_;
  std::vector<uint8_t> bytes_;
};

class SelectionProbe final : public Probe {
 public:
  SelectionProbe(const Config& config, SelectionBits& bits) : config_(config), bits_(bits) {}

  void hidden(int64_t stage, Tensor x) override {
    if (stage == 0) first_ = std::exchange(next_, next_ + x.rows);
  }
  void selection(int64_t layer, const Selection& selection) override {
    const auto& full = config_.indexer_full;
    const int64_t number = std::count(full.begin(), full.begin() + layer, true);
    for (int64_t t = first_; t < next_; ++t) {
      for (const int32_t position : selection[t - first_]) bits_.set(number, t, position);
    }
  }
  void routing(int64_t, const Routing&) override {}

 private:
  const Config& config_;
  SelectionBits& bits_;
  int64_t first_ = 0, next_ = 0;  // the tokens of the batch
};

std::string base64(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < left ? bytes[i + k] : 0U);
    for (size_t k = 0; k < 4; ++k) text += k <= left ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

struct Answer {
  std::string reasoning, content;
};

// The text of a field of the answer, "" where there is none.
std::string text_of(FieldReader& fields, const Json& message, const char* name) {
  const auto found = message.find(name);
  if (found == message.end() || found->is_null()) return {};
  if (found->is_string()) return found->get<std::string>();
  fields.refuse("messages",
                fmt::format("messages: {} of the answer is {}, expected a string", name, json_kind(*found)));
  return {};
}

// Takes the last message, which must be an answer, out of the conversation.
Answer take_answer(FieldReader& fields, Json& body) {
  const auto list = body.find("messages");
  const bool ends_with_answer = list != body.end() && list->is_array() && !list->empty() &&
                                list->back().is_object() && list->back().value("role", Json()) == "assistant";
  if (!ends_with_answer) {
    fields.refuse("messages", "messages does not end with a message of the assistant, the answer to look at");
    return {};
  }
  const Json& message = list->back();
  Answer answer = {text_of(fields, message, "reasoning_content"), text_of(fields, message, "content")};
  list->erase(list->size() - 1);
  return answer;
}

// The ids of an answer after `prompt`, as the tokenizer reads its text: the model may have written the same
// text with other tokens. Reasoning stands between its markers.
Result<std::vector<int32_t>> answer_ids(const Engine& engine, std::span<const int32_t> prompt,
                                        const Answer& answer) {
  const MarkerTokens& markers = engine.runner().markers();
  const bool opened = markers.think && !prompt.empty() && prompt.back() == *markers.think;
  ASSIGN_OR_RETURN(std::vector<int32_t> ids, engine.encode(answer.reasoning, /*plain=*/true));
  if (!opened && !ids.empty() && markers.think) ids.insert(ids.begin(), *markers.think);
  if ((opened || !ids.empty()) && !answer.content.empty() && markers.end_think)
    ids.push_back(*markers.end_think);
  ASSIGN_OR_RETURN(const std::vector<int32_t> content, engine.encode(answer.content, /*plain=*/true));
  ids.insert(ids.end(), content.begin(), content.end());
  if (ids.empty())
    return make_error("messages ends with an answer without text: there is nothing to look at");
  return ids;
}

// What is looked at.
struct View {
  std::vector<int32_t> ids;  // of the whole sequence
  int64_t prompt_tokens = 0;
  int64_t first = 0;  // the first token whose selections are wanted

  int64_t length() const { return std::ssize(ids); }
  int64_t count() const { return length() - first; }
};

void read_view(FieldReader& fields, const Engine& engine, const Json& body, const Answer& answer,
               View& view) {
  std::optional<int64_t> wanted;
  fields.read(kFields[last], wanted);
  ChatPrompt prompt;
  read_chat_prompt(fields, engine, api::read_chat_completions(body), prompt);
  if (fields.refusal()) return;
  const Result<std::vector<int32_t>> ids = answer_ids(engine, prompt.ids, answer);
  if (!ids.ok()) return fields.refuse("messages", ids.error().message);
  view.ids = std::move(prompt.ids);
  view.prompt_tokens = view.length();
  view.ids.insert(view.ids.end(), ids->begin(), ids->end());
  if (view.length() > engine.info().context) {
    return fields.refuse("messages", fmt::format("messages are {} tokens, more than the context of {}",
                                                 view.length(), engine.info().context));
  }
  const int64_t token_bytes =
      engine.runner().config().full_layers() * SelectionBits::bytes_per_token(view.length());
  const int64_t most = kMaxBytes / token_bytes;
  if (most == 0) {
    return fields.refuse("messages",
                         fmt::format("messages are {} tokens: what one of them selected would be {} bytes, "
                                     "more than the {} that are told",
                                     view.length(), token_bytes, kMaxBytes));
  }
  if (wanted.value_or(1) > most) {
    return fields.refuse("last", fmt::format("last is {}, expected at most {} where messages are {} tokens",
                                             *wanted, most, view.length()));
  }
  view.first = view.length() - std::min(wanted.value_or(std::min(most, kMaxLast)), std::ssize(*ids));
}

// One for each full layer: it, the layers that read its selection, itself among them, and the selections.
Json groups_json(const Config& config, const SelectionBits& bits) {
  Json groups = Json::array();
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (config.indexer_full[static_cast<size_t>(layer)]) {
      groups.push_back({{"full_layer", layer},
                        {"layers", Json::array()},
                        {"selected", base64(bits.of_layer(std::ssize(groups)))}});
    }
    if (!groups.empty()) groups.back()["layers"].push_back(layer);
  }
  return groups;
}

Json work_json(const Work& work) {
  Json seconds = Json::object(), flops = Json::object();
  for (int i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    seconds[part_name(part)] = work.seconds(part);
    flops[part_name(part)] = work.flops(part);
  }
  return {{"seconds", std::move(seconds)}, {"flops", std::move(flops)}};
}

// Of a token at the end of the sequence, by the published formula: as the schedule has it, and were every
// layer full.
Json flops_json(const Config& config, int64_t context) {
  const auto count = [&](int64_t full_layers) {
    const FlopCount flops =
        flops_per_token(config, static_cast<double>(full_layers), context, AttentionForm::latent);
    return Json{{"index", flops[Part::index]}, {"total", flops.total()}};
  };
  return {{"shared", count(config.full_layers())}, {"unshared", count(config.num_hidden_layers)}};
}

Json lens_json(const Call& call, const View& view, const SelectionBits& bits, const Work& work) {
  const Config& config = call.engine().runner().config();
  Json tokens = Json::array();
  for (const int32_t id : view.ids) tokens.push_back(token_text(call.engine(), id));
  return {{"object", "index_lens"},
          {"model", call.service.model_name()},
          {"index_topk", config.index_topk},
          {"ids", view.ids},
          {"tokens", std::move(tokens)},
          {"prompt_tokens", view.prompt_tokens},
          {"first", view.first},
          {"groups", groups_json(config, bits)},
          {"work", work_json(work)},
          {"flops_per_token", flops_json(config, view.length())}};
}

}  // namespace

std::span<const Field> index_lens_fields() {
  return kFields;
}

void post_index_lens(Call call) {
  FieldReader fields(call.body);
  const Answer answer = take_answer(fields, call.body);
  View view;
  read_view(fields, call.engine(), call.body, answer, view);
  if (fields.refusal()) return call.refuse(*fields.refusal());
  std::unique_lock lock(call.service.lens_mutex(), std::try_to_lock);
  if (!lock) {
    return call.refuse({.status = 429, .message = "another index lens is being made: try again later"});
  }
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  call.exchange->post([exchange = call.exchange, gone] { exchange->on_gone([gone] { *gone = true; }); });
  const Config& config = call.engine().runner().config();
  SelectionBits bits(config.full_layers(), view.count(), view.length());
  SelectionProbe probe(config, bits);
  const Result<Work> work = call.engine().observe(view.ids, view.first, probe, [&] { return !*gone; });
  lock.unlock();  // whoever has the answer may ask again
  if (!work.ok()) return call.refuse(refusal_of(work.error()));
  call.exchange->note(fmt::format("tokens={} looked_at={}", view.length(), view.count()));
  call.respond(lens_json(call, view, bits, *work));
}

}  // namespace indexshare::server
