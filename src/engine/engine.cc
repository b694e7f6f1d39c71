#include "indexshare/engine.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "cache/session_file.h"
#include "engine/engine_loop.h"
#include "engine/session.h"

namespace indexshare {
namespace {

ModelInfo describe(const ModelRunner& runner) {
  const Config& config = runner.config();
  ModelInfo info;
  if (runner.checkpoint() != nullptr) info.path = runner.checkpoint()->directory().string();
  info.schedule = config.schedule();
  info.layers = config.num_hidden_layers;
  info.vocab_size = config.vocab_size;
  info.index_topk = config.index_topk;
  info.context = runner.options().context;
  info.stop_ids = runner.stop_ids();
  info.bos_id = runner.generation_config().bos_token_id;
  info.pad_id = runner.generation_config().pad_token_id;
  info.has_tokenizer = runner.tokenizer() != nullptr;
  info.has_chat_template = runner.chat_template() != nullptr;
  info.isa = runner.backend().isa();
  info.options = runner.options();
  info.memory_bytes = runner.memory_plan().total();
  const CacheLayout& layout = runner.pool().layout();
  info.cache_bytes_per_token = layout.latent_bytes_per_token() + layout.index_bytes_per_token();
  return info;
}

Result<const Tokenizer*> tokenizer_of(const ModelRunner& runner) {
  if (runner.tokenizer() == nullptr) {
    return make_error(ErrorCode::unsupported, "the model has no tokenizer.json: it takes token ids alone");
  }
  return runner.tokenizer();
}

// What goes into a session file, and out of it, is what is kept for reuse.
Result<std::string> session_fingerprint(const ModelRunner& runner) {
  if (!runner.options().reuse_prefixes) {
    return make_error(ErrorCode::unsupported, "sessions need an engine that reuses prefixes");
  }
  return runner.fingerprint();
}

}  // namespace

// The engine's thread, and what is handed to it.
class Engine::Impl {
 public:
  explicit Impl(std::unique_ptr<ModelRunner> runner)
      : runner_(std::move(runner)),
        info_(describe(*runner_)),
        loop_(*runner_, [this] { wake(); }),
        thread_([this] { work(); }) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_one();
    thread_.join();
    runner_->close_disk_cache();  // whose thread calls wake()
  }

  ModelRunner& runner() { return *runner_; }
  const ModelInfo& info() const { return info_; }

  Result<RequestId> submit(GenerationRequest request, GenerationCallbacks callbacks) {
    RETURN_IF_ERROR(check_request(request, *runner_));
    const RequestId id = next_id_.fetch_add(1);
    auto active = std::make_unique<ActiveRequest>(id, std::move(request), std::move(callbacks), *runner_);
    {
      const std::lock_guard lock(mutex_);
      if (closing_) return make_error(ErrorCode::busy, "the engine is being closed");
      const EngineOptions& options = runner_->options();
      if (options.max_waiting > 0 && unfinished_ >= options.max_running + options.max_waiting) {
        return make_error(ErrorCode::busy, "{} requests are waiting already: try again later",
                          options.max_waiting);
      }
      ++unfinished_;
      submitted_.push_back(std::move(active));
    }
    changed_.notify_one();
    return id;
  }

  void cancel(RequestId id) {
    {
      const std::lock_guard lock(mutex_);
      cancelled_.push_back(id);
    }
    changed_.notify_one();
  }

  void run_exclusive(const std::function<void(EngineLoop&)>& task) {
    std::unique_lock lock(mutex_);
    bool done = false;
    tasks_.push_back({&task, &done});
    changed_.notify_one();
    task_done_.wait(lock, [&] { return done; });
  }

  EngineStatistics statistics() const {
    const std::lock_guard lock(mutex_);
    EngineStatistics now = statistics_;
    now.waiting = unfinished_ - now.running;
    return now;
  }

 private:
  struct Task {
    const std::function<void(EngineLoop&)>* run;
    bool* done;
  };

  void wake() {
    { const std::lock_guard lock(mutex_); }  // whoever is about to wait has not looked yet, or waits already
    changed_.notify_one();
  }

  void work() {
    while (take_messages()) {
      if (!loop_.is_idle()) loop_.step();
      end_requests();
    }
    loop_.cancel_all();
    end_requests();
    loop_.store_kept();
  }

  // Whoever is told that a request has ended finds it counted.
  void end_requests() {
    const auto ended = loop_.take_ended();
    {
      const std::lock_guard lock(mutex_);
      statistics_ = loop_.statistics();
      unfinished_ -= std::ssize(ended);
    }
    for (const auto& request : ended) request->end();
  }

  // Waits until there is something to do; false when it is time to leave.
  bool take_messages() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      return closing_ || !submitted_.empty() || !cancelled_.empty() || !tasks_.empty() || !loop_.is_idle();
    });
    auto submitted = std::exchange(submitted_, {});
    const auto cancelled = std::exchange(cancelled_, {});
    const auto tasks = std::exchange(tasks_, {});
    const bool stay = !closing_;
    lock.unlock();
    for (auto& request : submitted) loop_.submit(std::move(request));
    for (const RequestId id : cancelled) loop_.cancel(id);
    for (const Task& task : tasks) {
      (*task.run)(loop_);
      lock.lock();
      *task.done = true;
      lock.unlock();
      task_done_.notify_all();
    }
    return stay;
  }

  std::unique_ptr<ModelRunner> runner_;
  ModelInfo info_;
  EngineLoop loop_;  // the thread's own
  std::atomic<RequestId> next_id_{1};

  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_, task_done_;
  std::vector<std::unique_ptr<ActiveRequest>> submitted_;
  std::vector<RequestId> cancelled_;
  std::vector<Task> tasks_;
  EngineStatistics statistics_ = loop_.statistics();
  int64_t unfinished_ = 0;  // requests
  bool closing_ = false;

  std::thread thread_;  // last, as it begins at once
};

Engine::Engine(std::unique_ptr<ModelRunner> runner) : impl_(std::make_unique<Impl>(std::move(runner))) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Result<Engine> Engine::load(const std::filesystem::path& directory, const EngineOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<ModelRunner> runner, ModelRunner::load(directory, options));
  return Engine(std::move(runner));
}

const ModelInfo& Engine::info() const {
  return impl_->info();
}

const ModelRunner& Engine::runner() const {
  return impl_->runner();
}

GenerationRequest Engine::default_request() const {
  const GenerationConfig& defaults = runner().generation_config();
  GenerationRequest request;
  request.sampling.temperature = defaults.temperature;
  request.sampling.top_k = static_cast<int32_t>(std::min<int64_t>(defaults.top_k, info().vocab_size));
  request.sampling.top_p = defaults.top_p;
  request.sampling.min_p = defaults.min_p;
  request.sampling.repetition_penalty = defaults.repetition_penalty;
  request.max_tokens = defaults.max_new_tokens;
  return request;
}

Result<std::vector<int32_t>> Engine::encode(std::string_view text, bool plain) const {
  ASSIGN_OR_RETURN(const Tokenizer* tokenizer, tokenizer_of(runner()));
  return tokenizer->encode(text, plain ? SpecialText::plain : SpecialText::parse);
}

Result<std::string> Engine::decode(std::span<const int32_t> ids, bool skip_special) const {
  ASSIGN_OR_RETURN(const Tokenizer* tokenizer, tokenizer_of(runner()));
  return tokenizer->decode(ids, skip_special);
}

Result<std::string> Engine::token_bytes(int32_t id) const {
  ASSIGN_OR_RETURN(const Tokenizer* tokenizer, tokenizer_of(runner()));
  return std::string(tokenizer->token_bytes(id));
}

Result<std::string> Engine::render_chat(std::string_view variables) const {
  ASSIGN_OR_RETURN(Json json, parse_json(variables, "the template's variables"));
  if (!json.is_object()) {
    return make_error("the template's variables are {}, expected an object", json_kind(json));
  }
  return runner().render_chat(std::move(json));
}

Result<std::shared_ptr<const Grammar>> Engine::compile(const Constraint& constraint) const {
  return runner().compile(constraint);
}

Result<RequestId> Engine::submit(GenerationRequest request, GenerationCallbacks callbacks) {
  return impl_->submit(std::move(request), std::move(callbacks));
}

void Engine::cancel(RequestId id) {
  impl_->cancel(id);
}

Result<GenerationResult> Engine::generate(GenerationRequest request, GenerationCallbacks callbacks) {
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<Result<GenerationResult>> result;
  callbacks.on_end = [&, on_end = std::move(callbacks.on_end)](Result<GenerationResult> r) {
    if (on_end) on_end(r);
    const std::lock_guard lock(mutex);
    result.emplace(std::move(r));
    ended.notify_one();
  };
  RETURN_IF_ERROR(submit(std::move(request), std::move(callbacks)));
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return result.has_value(); });
  return std::move(*result);
}

Result<void> Engine::save_session(const std::filesystem::path& file, std::span<const int32_t> tokens) {
  ASSIGN_OR_RETURN(const std::string fingerprint, session_fingerprint(runner()));
  GenerationRequest request;
  request.prompt.assign(tokens.begin(), tokens.end());
  request.max_tokens = 0;
  RETURN_IF_ERROR(generate(std::move(request)));
  SequenceCache cache(impl_->runner().pool());
  impl_->run_exclusive([&](EngineLoop& loop) { cache = loop.attach(tokens); });
  Result<void> saved =
      make_error(ErrorCode::out_of_memory, "{}: other requests have taken the pages that were to be saved",
                 file.string());
  // The pages are held, and no one writes to them any more: the engine's thread goes on in the meantime.
  if (cache.length() == std::ssize(tokens))
    saved = indexshare::save_session(file, cache, tokens, fingerprint);
  impl_->run_exclusive([&](EngineLoop&) { cache.truncate(0); });
  return saved;
}

Result<std::vector<int32_t>> Engine::restore_session(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const std::string fingerprint, session_fingerprint(runner()));
  ASSIGN_OR_RETURN(const SessionFile session, SessionFile::open(file, fingerprint, info().vocab_size));
  // The engine's thread only hands out pages: they are read and checked here, while other requests go on.
  auto with_pool = [&](FunctionRef<void()> task) { impl_->run_exclusive([&](EngineLoop&) { task(); }); };
  ASSIGN_OR_RETURN(SequenceCache cache, session.restore(impl_->runner().pool(), with_pool));
  impl_->run_exclusive([&](EngineLoop& loop) {
    loop.keep(session.tokens(), cache, /*ended=*/true);
    cache.truncate(0);
  });
  return std::vector<int32_t>(session.tokens().begin(), session.tokens().end());
}

EngineStatistics Engine::statistics() const {
  return impl_->statistics();
}

Result<Work> Engine::observe(std::span<const int32_t> tokens, int64_t first, Probe& probe,
                             const std::function<bool()>& wanted) {
  ModelRunner& runner = impl_->runner();
  if (!runner.options().reuse_prefixes) {
    return make_error(ErrorCode::unsupported, "selections are shown by an engine that reuses prefixes");
  }
  const auto before = tokens.first(static_cast<size_t>(first));
  GenerationRequest request;
  request.prompt.assign(before.begin(), before.end());
  request.max_tokens = 0;
  GenerationCallbacks callbacks;
  callbacks.on_prompt = [&](int64_t, int64_t) { return wanted(); };
  RETURN_IF_ERROR(generate(std::move(request), std::move(callbacks)));
  Result<Work> work =
      make_error(ErrorCode::busy,
                 "the {} tokens before were not read, or their pages taken since: try again later", first);
  impl_->run_exclusive([&](EngineLoop& loop) {
    SequenceCache cache = loop.attach(before);
    if (cache.length() < first) return;
    Session session(runner, std::move(cache), before);
    const Profile& profile = runner.model().backend().profile();
    const Work past = profile.work();
    const auto ran = session.append(
        tokens.subspan(before.size()), LogitsFor::none, [](int64_t, Tensor) {},
        [](int64_t, int64_t) { return true; }, &probe);
    if (ran.ok()) {
      work = profile.work() - past;
    } else {
      work = ran.error();
    }
  });
  return work;
}

void Engine::run_exclusive(const std::function<void(ModelRunner&)>& task) {
  impl_->run_exclusive([&](EngineLoop&) { task(impl_->runner()); });
}

struct Stream::State {
  std::function<void()> cancel;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<GeneratedPiece> pieces;
  int64_t prompt_done = 0;
  std::optional<Result<GenerationResult>> result;
};

Result<Stream> Engine::stream(GenerationRequest request) {
  auto state = std::make_shared<Stream::State>();
  GenerationCallbacks callbacks;
  callbacks.on_prompt = [state](int64_t done, int64_t) {
    const std::lock_guard lock(state->mutex);
    state->prompt_done = done;
    return true;
  };
  callbacks.on_piece = [state](const GeneratedPiece& piece) {
    const std::lock_guard lock(state->mutex);
    state->pieces.push_back(piece);
    state->changed.notify_all();
    return true;
  };
  callbacks.on_end = [state](Result<GenerationResult> result) {
    const std::lock_guard lock(state->mutex);
    state->result.emplace(std::move(result));
    state->changed.notify_all();
  };
  ASSIGN_OR_RETURN(const RequestId id, submit(std::move(request), std::move(callbacks)));
  state->cancel = [impl = impl_.get(), id] { impl->cancel(id); };
  return Stream(std::move(state));
}

Stream::Stream(std::shared_ptr<State> state) : state_(std::move(state)) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Stream::~Stream() {
  if (state_) cancel();
}

std::optional<GeneratedPiece> Stream::next() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return !state_->pieces.empty() || state_->result; });
  if (state_->pieces.empty()) return std::nullopt;
  GeneratedPiece piece = std::move(state_->pieces.front());
  state_->pieces.pop_front();
  return piece;
}

bool Stream::wait_for(std::chrono::nanoseconds timeout) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, timeout,
                                  [this] { return !state_->pieces.empty() || state_->result; });
}

int64_t Stream::prompt_tokens_done() const {
  const std::lock_guard lock(state_->mutex);
  return state_->prompt_done;
}

void Stream::cancel() {
  std::unique_lock lock(state_->mutex);
  if (state_->result) return;
  lock.unlock();
  state_->cancel();
}

Result<GenerationResult> Stream::result() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->result.has_value(); });
  return std::move(*state_->result);
}

}  // namespace indexshare
