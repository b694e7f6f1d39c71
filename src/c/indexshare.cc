// The functions of the C interface that use an engine.
#include "indexshare/indexshare.h"

#include <chrono>
#include <memory>
#include <utility>

#include "c/input.h"
#include "c/output.h"
#include "c/status.h"
#include "indexshare/engine.h"

using indexshare::Engine;
using indexshare::GeneratedPiece;
using indexshare::GenerationCallbacks;
using indexshare::GenerationRequest;
using indexshare::GenerationResult;
using indexshare::make_error;
using indexshare::Result;
using namespace indexshare::c;

// Shared with the streams, which may outlive the handle.
struct indexshare_engine {
  explicit indexshare_engine(Engine loaded)
      : shared(std::make_shared<Engine>(std::move(loaded))), info(shared->info()) {}

  std::shared_ptr<Engine> shared;
  OwnedInfo info;
};

struct indexshare_stream {
  std::shared_ptr<Engine> engine;
  indexshare::Stream stream;
  bool has_result = true;  // that was not taken
  GeneratedPiece piece = {};
  PieceView view = {};
};

namespace {

constexpr double kLongestWait = 1e6;  // seconds

// `out` is what the caller gets, empty until there is something.
template <typename T>
Result<void> clear(T* out, const char* name) {
  RETURN_IF_ERROR(check_given(out, name));
  *out = {};
  return {};
}

/// For the time that the engine calls back.
class InCallback {
 public:
  InCallback() { in_callback = true; }
  ~InCallback() { in_callback = false; }
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
};

// They run in the engine's thread, so an exception of the caller's ends the program.
GenerationCallbacks callbacks_of(const indexshare_request& request, PieceView& view) {
  GenerationCallbacks callbacks;
  if (request.on_prompt != nullptr) {
    callbacks.on_prompt = [&request](int64_t done, int64_t total) noexcept {
      const InCallback scope;
      return request.on_prompt(request.user, done, total);
    };
  }
  if (request.on_piece != nullptr) {
    callbacks.on_piece = [&request, &view](const GeneratedPiece& piece) noexcept {
      const InCallback scope;
      return request.on_piece(request.user, view.show(piece));
    };
  }
  return callbacks;
}

}  // namespace

indexshare_status indexshare_options_init(indexshare_options* options, size_t size) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(init_options(options, size));
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_engine_load(const char* directory, const indexshare_options* options,
                                         indexshare_engine** engine) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(clear(engine, "engine"));
    RETURN_IF_ERROR(check_given(directory, "directory"));
    ASSIGN_OR_RETURN(const indexshare::EngineOptions read, read_options(options));
    ASSIGN_OR_RETURN(Engine loaded, Engine::load(directory, read));
    *engine = new indexshare_engine(std::move(loaded));
    return INDEXSHARE_OK;
  });
}

void indexshare_engine_free(indexshare_engine* engine) {
  delete engine;
}

const indexshare_info* indexshare_engine_info(const indexshare_engine* engine) {
  return engine == nullptr ? nullptr : &engine->info;
}

indexshare_status indexshare_encode(const indexshare_engine* engine, const char* text, size_t size,
                                    int32_t plain, int32_t** ids, size_t* count) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(clear(ids, "ids"));
    RETURN_IF_ERROR(clear(count, "count"));
    RETURN_IF_ERROR(check_given(engine, "engine"));
    RETURN_IF_ERROR(check_given(text, "text"));
    ASSIGN_OR_RETURN(const auto encoded, engine->shared->encode({text, size}, plain != 0));
    give(encoded, ids, count);
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_decode(const indexshare_engine* engine, const int32_t* ids, size_t count,
                                    int32_t skip_special, char** text, size_t* size) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(clear(text, "text"));
    if (size != nullptr) *size = 0;
    RETURN_IF_ERROR(check_given(engine, "engine"));
    ASSIGN_OR_RETURN(const auto read, read_ids(ids, count, "ids"));
    ASSIGN_OR_RETURN(const std::string decoded, engine->shared->decode(read, skip_special != 0));
    give(decoded, text, size);
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_token_bytes(const indexshare_engine* engine, int32_t id, char** bytes,
                                         size_t* size) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(clear(bytes, "bytes"));
    RETURN_IF_ERROR(clear(size, "size"));
    RETURN_IF_ERROR(check_given(engine, "engine"));
    ASSIGN_OR_RETURN(const std::string found, engine->shared->token_bytes(id));
    give(found, bytes, size);
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_render_chat(const indexshare_engine* engine, const char* variables, char** text,
                                         size_t* size) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(clear(text, "text"));
    if (size != nullptr) *size = 0;
    RETURN_IF_ERROR(check_given(engine, "engine"));
    RETURN_IF_ERROR(check_given(variables, "variables"));
    ASSIGN_OR_RETURN(const std::string rendered, engine->shared->render_chat(variables));
    give(rendered, text, size);
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_request_init(const indexshare_engine* engine, indexshare_request* request,
                                          size_t size) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(check_given(engine, "engine"));
    RETURN_IF_ERROR(init_request(engine->shared->default_request(), request, size));
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_generate(indexshare_engine* engine, const indexshare_request* request,
                                      indexshare_result** result) {
  return guarded([&]() -> Result<indexshare_status> {
    if (result != nullptr) *result = nullptr;
    RETURN_IF_ERROR(check_may_wait());
    RETURN_IF_ERROR(check_given(engine, "engine"));
    ASSIGN_OR_RETURN(const indexshare_request known, read_struct(request));
    const std::shared_ptr<Engine> shared = engine->shared;
    ASSIGN_OR_RETURN(GenerationRequest asked, read_request(known, shared->info().context));
    PieceView view;
    ASSIGN_OR_RETURN(GenerationResult answer, shared->generate(std::move(asked), callbacks_of(known, view)));
    if (result != nullptr) *result = new OwnedResult(std::move(answer));
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_stream_open(indexshare_engine* engine, const indexshare_request* request,
                                         indexshare_stream** stream) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(clear(stream, "stream"));
    RETURN_IF_ERROR(check_given(engine, "engine"));
    ASSIGN_OR_RETURN(const indexshare_request known, read_struct(request));
    if (known.on_prompt != nullptr || known.on_piece != nullptr) {
      return make_error("a stream calls nothing back: on_prompt and on_piece are for indexshare_generate()");
    }
    ASSIGN_OR_RETURN(GenerationRequest asked, read_request(known, engine->shared->info().context));
    ASSIGN_OR_RETURN(indexshare::Stream opened, engine->shared->stream(std::move(asked)));
    *stream = new indexshare_stream{engine->shared, std::move(opened)};
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_stream_next(indexshare_stream* stream, const indexshare_piece** piece) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(clear(piece, "piece"));
    RETURN_IF_ERROR(check_may_wait());
    RETURN_IF_ERROR(check_given(stream, "stream"));
    std::optional<GeneratedPiece> next = stream->stream.next();
    if (!next) return INDEXSHARE_END;
    stream->piece = std::move(*next);
    *piece = stream->view.show(stream->piece);
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_stream_wait(indexshare_stream* stream, double seconds) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(check_may_wait());
    RETURN_IF_ERROR(check_given(stream, "stream"));
    if (!(seconds >= 0 && seconds <= kLongestWait)) {
      return make_error("seconds is {}, expected 0 to {}", seconds, kLongestWait);
    }
    const auto timeout =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
    return stream->stream.wait_for(timeout) ? INDEXSHARE_OK : INDEXSHARE_TIMEOUT;
  });
}

indexshare_status indexshare_stream_prompt_tokens(const indexshare_stream* stream, int64_t* count) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(clear(count, "count"));
    RETURN_IF_ERROR(check_given(stream, "stream"));
    *count = stream->stream.prompt_tokens_done();
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_stream_cancel(indexshare_stream* stream) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(check_given(stream, "stream"));
    stream->stream.cancel();
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_stream_result(indexshare_stream* stream, indexshare_result** result) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(clear(result, "result"));
    RETURN_IF_ERROR(check_may_wait());
    RETURN_IF_ERROR(check_given(stream, "stream"));
    if (!std::exchange(stream->has_result, false))
      return make_error("the result of the stream was taken before");
    ASSIGN_OR_RETURN(GenerationResult answer, stream->stream.result());
    *result = new OwnedResult(std::move(answer));
    return INDEXSHARE_OK;
  });
}

void indexshare_stream_free(indexshare_stream* stream) {
  delete stream;
}

indexshare_status indexshare_save_session(indexshare_engine* engine, const char* file, const int32_t* ids,
                                          size_t count) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(check_may_wait());
    RETURN_IF_ERROR(check_given(engine, "engine"));
    RETURN_IF_ERROR(check_given(file, "file"));
    ASSIGN_OR_RETURN(const auto tokens, read_ids(ids, count, "ids"));
    RETURN_IF_ERROR(engine->shared->save_session(file, tokens));
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_restore_session(indexshare_engine* engine, const char* file, int32_t** ids,
                                             size_t* count) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(clear(ids, "ids"));
    RETURN_IF_ERROR(clear(count, "count"));
    RETURN_IF_ERROR(check_may_wait());
    RETURN_IF_ERROR(check_given(engine, "engine"));
    RETURN_IF_ERROR(check_given(file, "file"));
    ASSIGN_OR_RETURN(const auto tokens, engine->shared->restore_session(file));
    give(tokens, ids, count);
    return INDEXSHARE_OK;
  });
}

indexshare_status indexshare_engine_statistics(const indexshare_engine* engine,
                                               indexshare_statistics** statistics) {
  return guarded([&]() -> Result<indexshare_status> {
    RETURN_IF_ERROR(clear(statistics, "statistics"));
    RETURN_IF_ERROR(check_given(engine, "engine"));
    *statistics = new OwnedStatistics(engine->shared->statistics());
    return INDEXSHARE_OK;
  });
}
