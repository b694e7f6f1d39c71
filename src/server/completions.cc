// POST /v1/completions: texts continued as they stand.
#include "base/error.h"
#include "server/form_fields.h"
#include "server/openai.h"
#include "server/sampling_fields.h"

namespace indexshare::server {
namespace {

constexpr int64_t kDefaultMaxTokens = 16;  // as OpenAI's own
constexpr size_t kMaxAnswers = 1024;       // to one request

enum Place : size_t { model, prompt, max_tokens, n, best_of, echo, logprobs, suffix, skip_special_tokens };

constexpr Field kFields[] = {
    {"model", "a string", "any name: there is one model"},
    {"prompt", "a text, a list of texts, a list of token ids, or a list of such lists", "what to continue"},
    {"max_tokens", "a whole number", "longest answer (16)", 0, kMaxTokens},
    {"n", "a whole number", "answers to each prompt", 1, kMaxChoices},
    {"best_of", "a whole number", "refused unless it equals n", 1, kMaxChoices},
    {"echo", "true or false", "the prompt is part of the answer"},
    {"logprobs", "a whole number", "report the tokens' log-probabilities and this many of the best", 0,
     kMaxLogprobs},
    {"suffix", "nothing", "refused: the model does not fill in"},
    {"skip_special_tokens", "true or false", "leave the model's markers out of the text (true)"},
};

using Prompts = std::vector<std::vector<int32_t>>;

bool is_list_of_ids(const Json& value) {
  return value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), is_token_id);
}

// One prompt; false where it is of no form that a prompt may have.
bool read_prompt(FieldReader& fields, const Engine& engine, const Json& value, Prompts& prompts) {
  if (is_list_of_ids(value)) {
    prompts.push_back(value.get<std::vector<int32_t>>());
    return true;
  }
  if (!value.is_string()) return false;
  Result<std::vector<int32_t>> ids = engine.encode(value.get_ref<const std::string&>());
  if (!ids.ok()) {
    fields.refuse("prompt", ids.error().message);
  } else if (ids->empty()) {
    fields.refuse("prompt", "prompt is an empty text, expected one of a token or more");
  } else {
    prompts.push_back(std::move(*ids));
  }
  return true;
}

void read_prompts(FieldReader& fields, const Engine& engine, Prompts& prompts) {
  const Field& field = kFields[prompt];
  const Json* value = fields.find(field.name);
  if (value == nullptr) return fields.refuse(field);
  if (!value->is_array() || is_list_of_ids(*value)) {
    if (!read_prompt(fields, engine, *value, prompts)) fields.refuse(field);
    return;
  }
  for (const Json& item : *value) {
    if (!read_prompt(fields, engine, item, prompts)) return fields.refuse(field);
  }
  if (prompts.empty()) fields.refuse(field);
}

// The log-probabilities of one answer in the older form, by token.
class LogprobList {
 public:
  explicit LogprobList(const Engine& engine) : engine_(&engine) {}

  void add(int32_t id, const TokenLogprobs* logprobs) {
    const std::string text = token_text(*engine_, id);
    tokens_.push_back(text);
    offsets_.push_back(offset_);
    offset_ += std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
    if (logprobs == nullptr) {  // the first token of all: nothing predicted it
      logprobs_.push_back(nullptr);
      top_.push_back(nullptr);
      return;
    }
    logprobs_.push_back(logprobs->logprob);
    Json top = Json::object();
    for (const TokenLogprob& best : logprobs->top) top[token_text(*engine_, best.id)] = best.logprob;
    top[text] = logprobs->logprob;
    top_.push_back(std::move(top));
  }

  bool empty() const { return tokens_.empty(); }

  /// What was added since the last time.
  Json take() {
    Json json = {{"text_offset", std::move(offsets_)},
                 {"token_logprobs", std::move(logprobs_)},
                 {"tokens", std::move(tokens_)},
                 {"top_logprobs", std::move(top_)}};
    tokens_ = offsets_ = logprobs_ = top_ = Json::array();
    return json;
  }

 private:
  const Engine* engine_;
  int64_t offset_ = 0;  // characters of all tokens so far
  Json tokens_ = Json::array(), offsets_ = Json::array(), logprobs_ = Json::array(), top_ = Json::array();
};

struct Choice {
  std::vector<int32_t> prompt;  // to be echoed
  LogprobList logprobs;
  std::string text = {};    // of the answer, reasoning included
  bool begun = false;       // its first text is out
  size_t with_logprob = 0;  // tokens of the answer that the list has had
  Json json = {};           // once it has ended
};

constexpr std::string_view kObject = "text_completion";

struct Completion : OpenAiAnswer {
  int64_t n = 1;
  bool echo = false, with_logprobs = false;
  std::vector<Choice> choices = {};

  Json choice_json(size_t index, std::string text, Json finish_reason) {
    Choice& choice = choices[index];
    return {{"index", index},
            {"text", std::move(text)},
            {"logprobs", with_logprobs ? choice.logprobs.take() : Json(nullptr)},
            {"finish_reason", std::move(finish_reason)}};
  }

  // The prompt's own text, before the first of the answer.
  std::string echoed(size_t index, const std::vector<TokenLogprobs>& logprobs) {
    Choice& choice = choices[index];
    if (!echo || std::exchange(choice.begun, true)) return {};
    for (size_t i = 0; with_logprobs && i < choice.prompt.size(); ++i) {
      choice.logprobs.add(choice.prompt[i], i == 0 || i > logprobs.size() ? nullptr : &logprobs[i - 1]);
    }
    Result<std::string> text = call.engine().decode(choice.prompt, /*skip_special=*/false);
    return text.ok() ? std::move(*text) : std::string();
  }

  /// The log-probabilities of an echoed prompt are known once it has been read, that is with the result.
  bool live() const { return stream.stream && !(echo && with_logprobs); }

  void on_accepted() const {
    if (stream.stream) call.begin_events();
  }

  void on_piece(size_t index, const GeneratedPiece& piece) {
    Choice& choice = choices[index];
    if (!live()) {
      choice.text += piece.text;
      return;
    }
    if (with_logprobs && piece.logprobs) {
      choice.logprobs.add(piece.id, &*piece.logprobs);
      ++choice.with_logprob;
    }
    if (piece.text.empty() && choice.logprobs.empty()) return;
    const std::string before = echoed(index, {});
    send(object(kObject, Json::array({choice_json(index, before + piece.text, nullptr)})));
  }

  void on_result(size_t index, const GenerationResult& result) {
    Choice& choice = choices[index];
    usage.add(result, index % static_cast<size_t>(n) == 0);
    const std::string before = echoed(index, result.prompt_logprobs);
    // The last token may be one that stops: it has no text, but a log-probability.
    for (size_t& i = choice.with_logprob; with_logprobs && i < result.logprobs.size(); ++i) {
      choice.logprobs.add(result.ids[i], &result.logprobs[i]);
    }
    Json json = choice_json(index, before + choice.text, openai_finish_reason(result.finish_reason));
    if (stream.stream) {
      send(object(kObject, Json::array({std::move(json)})));
    } else {
      choice.json = std::move(json);
    }
  }

  void on_end() {
    if (stream.stream) return end_events(kObject);
    Json list = Json::array();
    for (Choice& choice : choices) list.push_back(std::move(choice.json));
    respond(kObject, std::move(list));
  }
};

}  // namespace

std::span<const Field> completion_fields() {
  return kFields;
}

void post_completions(Call call) {
  FieldReader fields(call.body);
  GenerationRequest request = call.engine().default_request();
  request.max_tokens = kDefaultMaxTokens;
  StreamFields stream;
  std::string name;
  int64_t count = 1, best = 1;
  bool with_prompt = false, skip_special = true;
  Prompts prompts;
  fields.read(kFields[model], name);
  read_prompts(fields, call.engine(), prompts);
  fields.read(kFields[max_tokens], request.max_tokens);
  fields.read(kFields[n], count);
  best = count;
  fields.read(kFields[best_of], best);
  fields.read(kFields[echo], with_prompt);
  fields.read(kFields[logprobs], request.sampling.logprobs);
  fields.read(kFields[skip_special_tokens], skip_special);
  request.whole_text = !skip_special;
  read_stream(fields, stream);
  read_sampling(fields, request);
  read_form(fields, call.engine(), call.body, request);
  if (best != count)
    fields.refuse("best_of",
                  fmt::format("best_of is {}, expected {} as n: answers are not ranked", best, count));
  if (fields.find("suffix") != nullptr)
    fields.refuse("suffix", "suffix is not supported: the model does not fill in");
  if (prompts.size() * static_cast<size_t>(count) > kMaxAnswers) {
    fields.refuse("prompt", fmt::format("prompt asks for {} answers, expected {} at most",
                                        prompts.size() * static_cast<size_t>(count), kMaxAnswers));
  }
  if (fields.refusal()) return call.refuse(*fields.refusal());

  if (with_prompt && request.sampling.logprobs) request.prompt_logprobs = request.sampling.logprobs;
  const Engine& engine = call.engine();
  auto completion = std::make_shared<Completion>(Completion{
      {std::move(call), stream, "cmpl"}, count, with_prompt, request.sampling.logprobs.has_value()});
  std::vector<GenerationRequest> requests;
  for (std::vector<int32_t>& ids : prompts) {
    request.prompt = ids;
    for (GenerationRequest& copy : copies(request, count)) {
      requests.push_back(std::move(copy));
      completion->choices.push_back({with_prompt ? ids : std::vector<int32_t>(), LogprobList(engine)});
    }
  }
  answer(completion->call, std::move(requests), listener_of(completion));
}

}  // namespace indexshare::server
