// What is wrong is told: in a code, and in a sentence of the thread that called.
#include <cmath>
#include <thread>

#include "c/support.h"
#include "temporary_directory.h"

namespace indexshare {
namespace {

/// The last call failed with a sentence that has `words` in it.
void expect_failed(indexshare_status status, indexshare_status expected, const std::string& words) {
  EXPECT_EQ(status, expected) << indexshare_status_name(status) << ": " << indexshare_last_error();
  EXPECT_NE(std::string(indexshare_last_error()).find(words), std::string::npos) << indexshare_last_error();
}

void expect_null(indexshare_status status, const std::string& name) {
  expect_failed(status, INDEXSHARE_INVALID, name + " is NULL");
}

TEST(CInterface, NullArgumentsAreErrors) {
  const EngineHandle owned = load_pocket();
  indexshare_engine* engine = owned.get();
  const std::vector<int32_t> prompt = encode_question(engine);
  const indexshare_request request = request_for(engine, prompt);
  const StreamHandle stream = open_stream(engine, request);
  indexshare_request written;
  indexshare_engine* loaded = nullptr;
  indexshare_stream* opened = nullptr;
  indexshare_result* result = nullptr;
  indexshare_statistics* statistics = nullptr;
  const indexshare_piece* piece = nullptr;
  int32_t* ids = nullptr;
  char* text = nullptr;
  size_t size = 0;
  int64_t count = 0;

  expect_null(indexshare_options_init(nullptr, sizeof(indexshare_options)), "options");
  expect_null(indexshare_engine_load(nullptr, nullptr, &loaded), "directory");
  expect_null(indexshare_engine_load("models/pocket", nullptr, nullptr), "engine");
  EXPECT_EQ(indexshare_engine_info(nullptr), nullptr);
  expect_null(indexshare_encode(nullptr, "a", 1, 0, &ids, &size), "engine");
  expect_null(indexshare_encode(engine, nullptr, 1, 0, &ids, &size), "text");
  expect_null(indexshare_encode(engine, "a", 1, 0, nullptr, &size), "ids");
  expect_null(indexshare_encode(engine, "a", 1, 0, &ids, nullptr), "count");
  expect_null(indexshare_decode(nullptr, prompt.data(), 1, 0, &text, &size), "engine");
  expect_null(indexshare_decode(engine, nullptr, 1, 0, &text, &size), "ids");
  expect_null(indexshare_decode(engine, prompt.data(), 1, 0, nullptr, &size), "text");
  expect_null(indexshare_token_bytes(nullptr, 1, &text, &size), "engine");
  expect_null(indexshare_token_bytes(engine, 1, nullptr, &size), "bytes");
  expect_null(indexshare_token_bytes(engine, 1, &text, nullptr), "size");
  expect_null(indexshare_render_chat(nullptr, kQuestion, &text, &size), "engine");
  expect_null(indexshare_render_chat(engine, nullptr, &text, &size), "variables");
  expect_null(indexshare_render_chat(engine, kQuestion, nullptr, &size), "text");
  expect_null(indexshare_request_init(nullptr, &written, sizeof(written)), "engine");
  expect_null(indexshare_request_init(engine, nullptr, sizeof(written)), "request");
  expect_null(indexshare_generate(nullptr, &request, &result), "engine");
  expect_null(indexshare_generate(engine, nullptr, &result), "request");
  expect_null(indexshare_stream_open(nullptr, &request, &opened), "engine");
  expect_null(indexshare_stream_open(engine, nullptr, &opened), "request");
  expect_null(indexshare_stream_open(engine, &request, nullptr), "stream");
  expect_null(indexshare_stream_next(nullptr, &piece), "stream");
  expect_null(indexshare_stream_next(stream.get(), nullptr), "piece");
  expect_null(indexshare_stream_wait(nullptr, 0), "stream");
  expect_null(indexshare_stream_prompt_tokens(nullptr, &count), "stream");
  expect_null(indexshare_stream_prompt_tokens(stream.get(), nullptr), "count");
  expect_null(indexshare_stream_cancel(nullptr), "stream");
  expect_null(indexshare_stream_result(nullptr, &result), "stream");
  expect_null(indexshare_stream_result(stream.get(), nullptr), "result");
  expect_null(indexshare_save_session(nullptr, "file", prompt.data(), 1), "engine");
  expect_null(indexshare_save_session(engine, nullptr, prompt.data(), 1), "file");
  expect_null(indexshare_save_session(engine, "file", nullptr, 1), "ids");
  expect_null(indexshare_restore_session(nullptr, "file", &ids, &size), "engine");
  expect_null(indexshare_restore_session(engine, nullptr, &ids, &size), "file");
  expect_null(indexshare_restore_session(engine, "file", nullptr, &size), "ids");
  expect_null(indexshare_restore_session(engine, "file", &ids, nullptr), "count");
  expect_null(indexshare_engine_statistics(nullptr, &statistics), "engine");
  expect_null(indexshare_engine_statistics(engine, nullptr), "statistics");

  indexshare_free(nullptr);
  indexshare_engine_free(nullptr);
  indexshare_result_free(nullptr);
  indexshare_stream_free(nullptr);
  indexshare_statistics_free(nullptr);
}

TEST(CInterface, AModelThatIsNotThereIsNamed) {
  auto* engine = reinterpret_cast<indexshare_engine*>(1);
  expect_failed(indexshare_engine_load("no/such/model", nullptr, &engine), INDEXSHARE_NOT_FOUND,
                "no/such/model");
  EXPECT_EQ(engine, nullptr);
}

TEST(CInterface, OptionsAreChecked) {
  const std::string model = testing::pocket_path().string();
  const auto load = [&](auto change) {
    indexshare_options options;
    EXPECT_EQ(indexshare_options_init(&options, sizeof(options)), INDEXSHARE_OK);
    change(options);
    indexshare_engine* engine = nullptr;
    const indexshare_status status = indexshare_engine_load(model.c_str(), &options, &engine);
    EXPECT_EQ(engine, nullptr);
    return status;
  };
  using Options = indexshare_options;
  expect_failed(load([](Options& o) { o.compute = 3; }), INDEXSHARE_INVALID, "compute is 3");
  expect_failed(load([](Options& o) { o.cache_dtype = -1; }), INDEXSHARE_INVALID, "cache_dtype is -1");
  expect_failed(load([](Options& o) { o.index_keys = 3; }), INDEXSHARE_INVALID, "index_keys is 3");
  expect_failed(load([](Options& o) { o.reuse_prefixes = 2; }), INDEXSHARE_INVALID, "reuse_prefixes is 2");
  expect_failed(load([](Options& o) { o.threads = -1; }), INDEXSHARE_INVALID, "threads is -1");
  expect_failed(load([](Options& o) { o.chunk = 0; }), INDEXSHARE_INVALID, "chunk is 0");
  expect_failed(load([](Options& o) { o.ram_bytes = 1 << 20; }), INDEXSHARE_OUT_OF_MEMORY, "ram");
}

TEST(CInterface, RequestsAreChecked) {
  const EngineHandle engine = load_pocket();
  const std::vector<int32_t> prompt = encode_question(engine.get());
  const auto submit = [&](auto change) {
    indexshare_request request = request_for(engine.get(), prompt);
    change(request);
    auto* result = reinterpret_cast<indexshare_result*>(1);
    auto* stream = reinterpret_cast<indexshare_stream*>(1);
    const indexshare_status status = indexshare_stream_open(engine.get(), &request, &stream);
    EXPECT_EQ(stream, nullptr);
    EXPECT_EQ(indexshare_generate(engine.get(), &request, &result), status);
    EXPECT_EQ(result, nullptr);
    return status;
  };
  using Request = indexshare_request;
  const std::vector<int32_t> unknown = {1, 1 << 30};
  const char* stops[] = {"a", nullptr};
  const indexshare_logit_bias bias = {1, 1000.0f};
  expect_failed(submit([](Request& r) { r.prompt = nullptr; }), INDEXSHARE_INVALID, "prompt is NULL");
  expect_failed(submit([](Request& r) { r.prompt_count = 0; }), INDEXSHARE_INVALID, "prompt");
  expect_failed(submit([](Request& r) { r.prompt_count = SIZE_MAX; }), INDEXSHARE_INVALID, "context");
  expect_failed(submit([&](Request& r) { r.prompt = unknown.data(), r.prompt_count = 2; }),
                INDEXSHARE_INVALID, "1073741824");
  expect_failed(submit([](Request& r) { r.max_tokens = -2; }), INDEXSHARE_INVALID, "max_tokens is -2");
  expect_failed(submit([](Request& r) { r.temperature = NAN; }), INDEXSHARE_INVALID, "temperature is nan");
  expect_failed(submit([](Request& r) { r.top_p = 2; }), INDEXSHARE_INVALID, "top_p is 2");
  expect_failed(submit([](Request& r) { r.logprobs = 21; }), INDEXSHARE_INVALID, "logprobs is 21");
  expect_failed(submit([](Request& r) { r.prompt_logprobs = -2; }), INDEXSHARE_INVALID,
                "prompt_logprobs is -2");
  expect_failed(submit([](Request& r) { r.timeout_seconds = -1; }), INDEXSHARE_INVALID,
                "timeout_seconds is -1");
  expect_failed(submit([](Request& r) { r.ignore_eos = 2; }), INDEXSHARE_INVALID, "ignore_eos is 2");
  expect_failed(submit([](Request& r) { r.stop_count = 1; }), INDEXSHARE_INVALID, "stop is NULL");
  expect_failed(submit([&](Request& r) { r.stop = stops, r.stop_count = 2; }), INDEXSHARE_INVALID,
                "stop is NULL");
  expect_failed(submit([](Request& r) { r.stop_id_count = 1; }), INDEXSHARE_INVALID, "stop_ids is NULL");
  expect_failed(submit([](Request& r) { r.logit_bias_count = 1; }), INDEXSHARE_INVALID, "logit_bias is NULL");
  expect_failed(submit([&](Request& r) { r.logit_bias = &bias, r.logit_bias_count = 1; }), INDEXSHARE_INVALID,
                "bias");
}

TEST(CInterface, AStreamCallsNothingBack) {
  const EngineHandle engine = load_pocket();
  const std::vector<int32_t> prompt = encode_question(engine.get());
  indexshare_request request = request_for(engine.get(), prompt);
  request.on_piece = [](void*, const indexshare_piece*) { return true; };
  indexshare_stream* stream = nullptr;
  expect_failed(indexshare_stream_open(engine.get(), &request, &stream), INDEXSHARE_INVALID, "on_piece");
}

TEST(CInterface, WhatTheModelCannotDoIsUnsupported) {
  indexshare_engine* loaded = nullptr;
  const std::string tiny = std::string(INDEXSHARE_SOURCE_DIR) + "/tests/golden/data/tiny-5.2";
  ASSERT_EQ(indexshare_engine_load(tiny.c_str(), nullptr, &loaded), INDEXSHARE_OK) << indexshare_last_error();
  const EngineHandle engine(loaded);
  EXPECT_EQ(indexshare_engine_info(loaded)->has_tokenizer, 0);
  int32_t* ids = nullptr;
  char* text = nullptr;
  size_t size = 7;
  expect_failed(indexshare_encode(loaded, "a", 1, 0, &ids, &size), INDEXSHARE_UNSUPPORTED, "tokenizer.json");
  EXPECT_EQ(size, 0U);
  const int32_t one = 1;
  expect_failed(indexshare_decode(loaded, &one, 1, 0, &text, nullptr), INDEXSHARE_UNSUPPORTED,
                "tokenizer.json");
}

TEST(CInterface, ADamagedSessionIsRefused) {
  const TemporaryDirectory directory;
  const EngineHandle engine = load_pocket();
  int32_t* ids = nullptr;
  size_t count = 0;
  const auto restore = [&](const std::filesystem::path& file) {
    return indexshare_restore_session(engine.get(), file.c_str(), &ids, &count);
  };
  expect_failed(restore(directory / "none"), INDEXSHARE_NOT_FOUND, "none");
  expect_failed(restore(directory.write("session", "what is this?")), INDEXSHARE_INVALID, "session");
  EXPECT_EQ(ids, nullptr);
  EXPECT_EQ(count, 0U);
}

TEST(CInterface, EachThreadHasItsOwnLastError) {
  indexshare_engine* engine = nullptr;
  expect_failed(indexshare_engine_load("here", nullptr, &engine), INDEXSHARE_NOT_FOUND, "here");
  std::thread([&] {
    EXPECT_STREQ(indexshare_last_error(), "");
    expect_failed(indexshare_engine_load("elsewhere", nullptr, &engine), INDEXSHARE_NOT_FOUND, "elsewhere");
  }).join();
  EXPECT_EQ(std::string(indexshare_last_error()).find("elsewhere"), std::string::npos);
}

}  // namespace
}  // namespace indexshare
