// What the tests of the C interface share: the bundled model, and handles that free themselves.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "golden/support.h"
#include "indexshare/indexshare.h"

namespace indexshare {

template <auto free>
struct Free {
  template <typename T>
  void operator()(T* handle) const {
    free(handle);
  }
};
using EngineHandle = std::unique_ptr<indexshare_engine, Free<indexshare_engine_free>>;
using StreamHandle = std::unique_ptr<indexshare_stream, Free<indexshare_stream_free>>;
using ResultHandle = std::unique_ptr<indexshare_result, Free<indexshare_result_free>>;
using StatisticsHandle = std::unique_ptr<indexshare_statistics, Free<indexshare_statistics_free>>;

inline constexpr const char* kQuestion =
    R"({"messages": [{"role": "user", "content": "What is a parrakeet?"}]})";

/// The bundled model, with two threads.
inline EngineHandle load_pocket() {
  indexshare_options options;
  EXPECT_EQ(indexshare_options_init(&options, sizeof(options)), INDEXSHARE_OK);
  options.threads = 2;
  indexshare_engine* engine = nullptr;
  EXPECT_EQ(indexshare_engine_load(testing::pocket_path().c_str(), &options, &engine), INDEXSHARE_OK)
      << indexshare_last_error();
  return EngineHandle(engine);
}

inline std::string take(char* text, size_t size) {
  std::string taken(text, size);
  indexshare_free(text);
  return taken;
}

inline std::vector<int32_t> take(int32_t* ids, size_t count) {
  std::vector<int32_t> taken(ids, ids + count);
  indexshare_free(ids);
  return taken;
}

inline std::vector<int32_t> encode(const indexshare_engine* engine, const std::string& text) {
  int32_t* ids = nullptr;
  size_t count = 0;
  EXPECT_EQ(indexshare_encode(engine, text.data(), text.size(), 0, &ids, &count), INDEXSHARE_OK);
  return take(ids, count);
}

inline std::vector<int32_t> encode_question(const indexshare_engine* engine) {
  char* text = nullptr;
  size_t size = 0;
  EXPECT_EQ(indexshare_render_chat(engine, kQuestion, &text, &size), INDEXSHARE_OK);
  return encode(engine, take(text, size));
}

/// The model's defaults with a prompt, which stays where it is.
inline indexshare_request request_for(const indexshare_engine* engine, const std::vector<int32_t>& prompt) {
  indexshare_request request;
  EXPECT_EQ(indexshare_request_init(engine, &request, sizeof(request)), INDEXSHARE_OK);
  request.prompt = prompt.data();
  request.prompt_count = prompt.size();
  return request;
}

/// The same, going on to the end of the context.
inline indexshare_request endless(const indexshare_engine* engine, const std::vector<int32_t>& prompt) {
  indexshare_request request = request_for(engine, prompt);
  request.max_tokens = -1;
  request.ignore_eos = 1;
  return request;
}

inline ResultHandle generate(indexshare_engine* engine, const indexshare_request& request) {
  indexshare_result* result = nullptr;
  EXPECT_EQ(indexshare_generate(engine, &request, &result), INDEXSHARE_OK) << indexshare_last_error();
  return ResultHandle(result);
}

inline StreamHandle open_stream(indexshare_engine* engine, const indexshare_request& request) {
  indexshare_stream* stream = nullptr;
  EXPECT_EQ(indexshare_stream_open(engine, &request, &stream), INDEXSHARE_OK) << indexshare_last_error();
  return StreamHandle(stream);
}

}  // namespace indexshare
