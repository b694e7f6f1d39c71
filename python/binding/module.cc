// The module indexshare._core: the public C++ interface as it is, and the study part. The package around it
// gives these things the shapes that people know.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer.h"
#include "base/json.h"
#include "errors.h"
#include "indexshare/engine.h"
#include "study.h"
#include "text/answer_parser.h"
#include "text/reasoning_effort.h"
#include "text/tool_schemas.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace indexshare::python {
namespace {

// An engine that may be closed while Python still holds it.
class Handle {
 public:
  Handle(const std::string& directory, const EngineOptions& options)
      : engine_(std::make_shared<Engine>(
            value_of(without_gil([&] { return Engine::load(directory, options); })))) {}

  /// To be held for as long as the engine is used: another thread may close it.
  std::shared_ptr<Engine> get() const {
    if (engine_ == nullptr) raise({.message = "the engine is closed", .code = ErrorCode::busy});
    return engine_;
  }

  void close() {
    without_gil([engine = std::move(engine_)]() mutable { engine.reset(); });
  }

  bool closed() const { return engine_ == nullptr; }

 private:
  std::shared_ptr<Engine> engine_;  // read and written under the GIL alone
};

std::string text_of(const std::optional<FloatType>& type) {
  return type ? std::string(float_type_name(*type)) : "auto";
}

std::optional<FloatType> float_type_of(const char* name, const std::string& text) {
  if (text == "auto") return std::nullopt;
  if (const auto type = find_float_type(text)) return type;
  raise({.message = std::string(name) + " is \"" + text + "\", expected auto, f32 or bf16",
         .code = ErrorCode::invalid});
}

void bind_options(nb::module_& m) {
  nb::class_<EngineOptions>(m, "Options")
      .def(nb::init<>())
      .def_rw("threads", &EngineOptions::threads)
      .def_rw("numa_nodes", &EngineOptions::numa_nodes)
      .def_prop_rw(
          "compute", [](const EngineOptions& o) { return text_of(o.compute); },
          [](EngineOptions& o, const std::string& text) { o.compute = float_type_of("compute", text); })
      .def_prop_rw(
          "cache_dtype", [](const EngineOptions& o) { return text_of(o.cache_dtype); },
          [](EngineOptions& o, const std::string& text) {
            o.cache_dtype = float_type_of("cache_dtype", text);
          })
      .def_prop_rw(
          "index_keys", [](const EngineOptions& o) { return std::string(index_keys_name(o.index_keys)); },
          [](EngineOptions& o, const std::string& text) {
            const auto keys = find_index_keys(text);
            if (!keys) {
              raise({.message = "index_keys is \"" + text + "\", expected plain, int8 or screened",
                     .code = ErrorCode::invalid});
            }
            o.index_keys = *keys;
          })
      .def_rw("schedule", &EngineOptions::schedule)
      .def_rw("latent_norm_eps", &EngineOptions::latent_norm_eps)
      .def_rw("context", &EngineOptions::context)
      .def_rw("cache_bytes", &EngineOptions::cache_bytes)
      .def_rw("chunk", &EngineOptions::chunk)
      .def_rw("ram_bytes", &EngineOptions::ram_bytes)
      .def_rw("max_running", &EngineOptions::max_running)
      .def_rw("max_waiting", &EngineOptions::max_waiting)
      .def_rw("reuse_prefixes", &EngineOptions::reuse_prefixes);

  nb::class_<ModelInfo>(m, "Info")
      .def_ro("path", &ModelInfo::path)
      .def_ro("schedule", &ModelInfo::schedule)
      .def_ro("layers", &ModelInfo::layers)
      .def_ro("vocab_size", &ModelInfo::vocab_size)
      .def_ro("index_topk", &ModelInfo::index_topk)
      .def_ro("context", &ModelInfo::context)
      .def_ro("stop_ids", &ModelInfo::stop_ids)
      .def_ro("bos_id", &ModelInfo::bos_id)
      .def_ro("pad_id", &ModelInfo::pad_id)
      .def_ro("has_tokenizer", &ModelInfo::has_tokenizer)
      .def_ro("has_chat_template", &ModelInfo::has_chat_template)
      .def_ro("isa", &ModelInfo::isa)
      .def_ro("options", &ModelInfo::options)
      .def_ro("memory_bytes", &ModelInfo::memory_bytes)
      .def_ro("cache_bytes_per_token", &ModelInfo::cache_bytes_per_token);
}

template <typename T>
void sampling_field(nb::class_<GenerationRequest>& request, const char* name, T SamplingParams::*field) {
  request.def_prop_rw(
      name, [field](const GenerationRequest& r) { return r.sampling.*field; },
      [field](GenerationRequest& r, T value) { r.sampling.*field = std::move(value); });
}

Constraint::Kind constraint_kind_of(const std::string& name) {
  using Kind = Constraint::Kind;
  for (const Kind kind : {Kind::json_object, Kind::json_schema, Kind::regex, Kind::choice, Kind::grammar,
                          Kind::structural_tag}) {
    if (name == constraint_kind_name(kind)) return kind;
  }
  raise({.message = "kind is \"" + name +
                    "\", expected json_object, json_schema, regex, choice, grammar or structural_tag",
         .code = ErrorCode::invalid});
}

void bind_request(nb::module_& m) {
  nb::class_<Constraint>(m, "Constraint")
      .def(
          "__init__",
          [](Constraint* self, const std::string& kind, std::string text, std::vector<std::string> choices) {
            new (self) Constraint{constraint_kind_of(kind), std::move(text), std::move(choices)};
          },
          "kind"_a, "text"_a, "choices"_a)
      .def_prop_ro("kind", [](const Constraint& c) { return std::string(constraint_kind_name(c.kind)); })
      .def_ro("text", &Constraint::text)
      .def_ro("choices", &Constraint::choices);
  nb::class_<GenerationRequest> request(m, "Request");
  request.def(nb::init<>())
      .def_rw("prompt", &GenerationRequest::prompt)
      .def_rw("max_tokens", &GenerationRequest::max_tokens, nb::arg().none())
      .def_rw("max_reasoning_tokens", &GenerationRequest::max_reasoning_tokens, nb::arg().none())
      .def_rw("stop", &GenerationRequest::stop)
      .def_rw("stop_ids", &GenerationRequest::stop_ids)
      .def_rw("ignore_eos", &GenerationRequest::ignore_eos)
      .def_rw("include_stop", &GenerationRequest::include_stop)
      .def_rw("whole_text", &GenerationRequest::whole_text)
      .def_rw("prompt_logprobs", &GenerationRequest::prompt_logprobs, nb::arg().none())
      .def_rw("priority", &GenerationRequest::priority)
      .def_rw("timeout_seconds", &GenerationRequest::timeout_seconds);
  sampling_field(request, "temperature", &SamplingParams::temperature);
  sampling_field(request, "top_k", &SamplingParams::top_k);
  sampling_field(request, "top_p", &SamplingParams::top_p);
  sampling_field(request, "min_p", &SamplingParams::min_p);
  sampling_field(request, "repetition_penalty", &SamplingParams::repetition_penalty);
  sampling_field(request, "frequency_penalty", &SamplingParams::frequency_penalty);
  sampling_field(request, "presence_penalty", &SamplingParams::presence_penalty);
  sampling_field(request, "logit_bias", &SamplingParams::logit_bias);
  sampling_field(request, "seed", &SamplingParams::seed);
  sampling_field(request, "min_tokens", &SamplingParams::min_tokens);
  request.def_prop_rw(
      "logprobs", [](const GenerationRequest& r) { return r.sampling.logprobs; },
      [](GenerationRequest& r, std::optional<int32_t> count) { r.sampling.logprobs = count; },
      nb::arg().none());
}

nb::dict phase(double seconds, const Work& work) {
  nb::dict parts;
  for (int i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    nb::dict entry;
    entry["seconds"] = work.seconds(part);
    entry["flops"] = work.flops(part);
    parts[part_name(part).data()] = entry;
  }
  nb::dict dict;
  dict["seconds"] = seconds;
  dict["parts"] = parts;
  return dict;
}

void bind_answer(nb::module_& m) {
  nb::class_<TokenLogprobs>(m, "TokenLogprobs")
      .def_ro("logprob", &TokenLogprobs::logprob)
      .def_ro("rank", &TokenLogprobs::rank)
      .def_prop_ro("top", [](const TokenLogprobs& logprobs) {
        std::vector<std::pair<int32_t, float>> top;
        for (const TokenLogprob& token : logprobs.top) top.emplace_back(token.id, token.logprob);
        return top;
      });
  nb::class_<GeneratedPiece>(m, "Piece")
      .def_ro("id", &GeneratedPiece::id)
      .def_ro("text", &GeneratedPiece::text)
      .def_ro("reasoning", &GeneratedPiece::reasoning)
      .def_ro("logprobs", &GeneratedPiece::logprobs);
  nb::class_<GenerationResult>(m, "Result")
      .def_ro("ids", &GenerationResult::ids)
      .def_ro("text", &GenerationResult::text)
      .def_ro("reasoning", &GenerationResult::reasoning)
      .def_prop_ro("finish_reason",
                   [](const GenerationResult& r) { return std::string(finish_reason_name(r.finish_reason)); })
      .def_ro("stop_text", &GenerationResult::stop_text)
      .def_ro("logprobs", &GenerationResult::logprobs)
      .def_ro("prompt_logprobs", &GenerationResult::prompt_logprobs)
      .def_ro("prompt_tokens", &GenerationResult::prompt_tokens)
      .def_ro("cached_tokens", &GenerationResult::cached_tokens)
      .def_ro("reasoning_tokens", &GenerationResult::reasoning_tokens)
      .def_prop_ro("timings", [](const GenerationResult& r) {
        nb::dict timings;
        timings["queue_seconds"] = r.timings.queue_seconds;
        timings["prefill"] = phase(r.timings.prefill_seconds, r.timings.prefill);
        timings["decode"] = phase(r.timings.decode_seconds, r.timings.decode);
        return timings;
      });
  nb::class_<Waker>(m, "Waker").def(nb::init<>()).def("fileno", &Waker::fileno).def("clear", &Waker::clear);
  nb::class_<Answer>(m, "Answer")
      .def("wait", &Answer::wait, "seconds"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("take", &Answer::take)
      .def_prop_ro("done", &Answer::done)
      .def("cancel", &Answer::cancel)
      .def("result",
           [](const Answer& answer) { return value_of(without_gil([&] { return answer.result(); })); });
}

nb::dict statistics(const Engine& engine) {
  const EngineStatistics now = engine.statistics();
  nb::dict dict;
  const auto count = [&](const char* name, int64_t value) { dict[name] = value; };
  count("running", now.running);
  count("waiting", now.waiting);
  count("submitted", now.submitted);
  count("finished", now.finished);
  count("failed", now.failed);
  count("cancelled", now.cancelled);
  count("preempted", now.preempted);
  count("prompt_tokens", now.prompt_tokens);
  count("cached_tokens", now.cached_tokens);
  count("generated_tokens", now.generated_tokens);
  count("steps", now.steps);
  count("step_tokens", now.step_tokens);
  count("pages_in_use", now.pages_in_use);
  count("pages_kept", now.pages_kept);
  count("page_bytes", now.page_bytes);
  count("page_tokens", now.page_tokens);
  count("cache_bytes", now.cache_bytes);
  count("cache_budget_bytes", now.cache_budget_bytes);
  dict["work"] = phase(now.work.total_seconds(), now.work);
  return dict;
}

void bind_engine(nb::module_& m) {
  nb::class_<Handle>(m, "Engine")
      .def(nb::init<const std::string&, const EngineOptions&>(), "directory"_a, "options"_a)
      .def("close", &Handle::close)
      .def_prop_ro("closed", &Handle::closed)
      .def_prop_ro("info", [](const Handle& h) { return h.get()->info(); })
      .def("default_request", [](const Handle& h) { return h.get()->default_request(); })
      .def(
          "encode",
          [](const Handle& h, const std::string& text, bool plain) {
            return value_of(without_gil([&, engine = h.get()] { return engine->encode(text, plain); }));
          },
          "text"_a, "plain"_a = false)
      .def(
          "decode",
          [](const Handle& h, const std::vector<int32_t>& ids, bool skip_special) {
            return value_of(without_gil([&, engine = h.get()] { return engine->decode(ids, skip_special); }));
          },
          "ids"_a, "skip_special"_a = true)
      .def(
          "token_bytes",
          [](const Handle& h, int32_t id) {
            const std::string bytes = value_of(h.get()->token_bytes(id));
            return nb::bytes(bytes.data(), bytes.size());
          },
          "id"_a)
      .def(
          "render_chat",
          [](const Handle& h, const std::string& variables) {
            return value_of(without_gil([&, engine = h.get()] { return engine->render_chat(variables); }));
          },
          "variables"_a)
      .def(
          "submit",
          [](const Handle& h, const GenerationRequest& request, bool pieces,
             std::shared_ptr<const Waker> waker) {
            return value_of(without_gil(
                [&, engine = h.get()] { return Answer::submit(engine, request, pieces, std::move(waker)); }));
          },
          "request"_a, "pieces"_a = false, "waker"_a.none() = nb::none())
      .def(
          "bind",
          [](const Handle& h, GenerationRequest& request, const Constraint& constraint) {
            request.grammar =
                value_of(without_gil([&, engine = h.get()] { return engine->compile(constraint); }));
          },
          "request"_a, "constraint"_a)
      .def(
          "save_session",
          [](const Handle& h, const std::string& file, const std::vector<int32_t>& ids) {
            check(without_gil([&, engine = h.get()] { return engine->save_session(file, ids); }));
          },
          "file"_a, "ids"_a)
      .def(
          "restore_session",
          [](const Handle& h, const std::string& file) {
            return value_of(without_gil([&, engine = h.get()] { return engine->restore_session(file); }));
          },
          "file"_a)
      .def("statistics", [](const Handle& h) { return statistics(*h.get()); })
      .def(
          "forward",
          [](const Handle& h, const std::vector<int32_t>& ids, bool logits, bool selections, bool hidden) {
            return forward(*h.get(), ids, {.logits = logits, .selections = selections, .hidden = hidden});
          },
          "ids"_a, "logits"_a = true, "selections"_a = true, "hidden"_a = true)
      .def(
          "flops",
          [](const Handle& h, int64_t context, double full_layers, bool latent) {
            return flops(*h.get(), context, full_layers, latent);
          },
          "context"_a, "full_layers"_a, "latent"_a = false);
}

// What an answer without its reasoning says, and its calls: names, and arguments in JSON.
std::pair<std::string, std::vector<std::pair<std::string, std::string>>> parse_answer(
    const std::string& text, const std::string& tools) {
  const Json given = value_of(parse_json(tools, "tools"));
  AnswerParser parser(ToolSchemas(value_of(openai_tools(given))), ReasoningText::none);
  ParsedAnswer answer;
  for (const AnswerEvent& event : parser.push(text)) answer.add(event);
  for (const AnswerEvent& event : parser.finish()) answer.add(event);
  std::vector<std::pair<std::string, std::string>> calls;
  for (ParsedAnswer::ToolCall& call : answer.calls) {
    calls.emplace_back(std::move(call.name), std::move(call.arguments));
  }
  return {std::move(answer.content), std::move(calls)};
}

}  // namespace
}  // namespace indexshare::python

NB_MODULE(_core, m) {
  using namespace indexshare::python;
  nanobind::set_leak_warnings(false);  // whoever leaves with requests running has done nothing wrong
  m.attr("__version__") = INDEXSHARE_VERSION;
  m.attr("MAX_LOGPROBS") = indexshare::kMaxLogprobs;
  m.def(
      "effort_for_template",
      [](const std::string& word) {
        const auto effort = indexshare::effort_for_template(word);
        return effort ? std::optional<std::string>(*effort) : std::nullopt;
      },
      nanobind::arg("word"));
  m.def("parse_answer", parse_answer, nanobind::arg("text"), nanobind::arg("tools"));
  bind_options(m);
  bind_request(m);
  bind_answer(m);
  bind_engine(m);
}
