// What the C interface does is what the C++ interface does; and callbacks, threads and streams.
#include <atomic>
#include <thread>

#include "c/support.h"
#include "indexshare/engine.h"
#include "temporary_directory.h"

namespace indexshare {
namespace {

void expect_same(const indexshare_token_logprobs* c, size_t count, const std::vector<TokenLogprobs>& cpp) {
  ASSERT_EQ(count, cpp.size());
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(c[i].logprob, cpp[i].logprob);
    EXPECT_EQ(c[i].rank, cpp[i].rank);
    ASSERT_EQ(c[i].top_count, cpp[i].top.size());
    for (size_t j = 0; j < cpp[i].top.size(); ++j) {
      EXPECT_EQ(c[i].top[j].id, cpp[i].top[j].id);
      EXPECT_EQ(c[i].top[j].logprob, cpp[i].top[j].logprob);
    }
  }
}

TEST(CInterface, AnswersAsTheCppInterfaceDoes) {
  const EngineHandle engine = load_pocket();
  const std::vector<int32_t> prompt = encode_question(engine.get());
  indexshare_request request = request_for(engine.get(), prompt);
  const indexshare_logit_bias bias = {prompt[0], -2.5f};
  const char* stops[] = {"genus", "no such text"};
  request.temperature = 1.5f;
  request.seed = 4;
  request.top_k = 50;
  request.logit_bias = &bias;
  request.logit_bias_count = 1;
  request.stop = stops;
  request.stop_count = 2;
  request.include_stop = 1;
  request.logprobs = 3;
  request.prompt_logprobs = 2;
  const ResultHandle result = generate(engine.get(), request);
  ASSERT_TRUE(result);

  auto cpp = Engine::load(testing::pocket_path());
  ASSERT_TRUE(cpp.ok());
  GenerationRequest same = cpp->default_request();
  same.prompt = prompt;
  same.sampling.temperature = 1.5f;
  same.sampling.seed = 4;
  same.sampling.top_k = 50;
  same.sampling.logit_bias = {{prompt[0], -2.5f}};
  same.stop = {"genus", "no such text"};
  same.include_stop = true;
  same.sampling.logprobs = 3;
  same.prompt_logprobs = 2;
  const auto expected = cpp->generate(same);
  ASSERT_TRUE(expected.ok());

  EXPECT_EQ(std::vector(result->ids, result->ids + result->id_count), expected->ids);
  EXPECT_EQ(std::string(result->text, result->text_size), expected->text);
  EXPECT_EQ(result->text[result->text_size], '\0');
  EXPECT_STREQ(result->reasoning, expected->reasoning.c_str());
  EXPECT_STREQ(result->stop_text, expected->stop_text.c_str());
  EXPECT_EQ(finish_reason_name(expected->finish_reason),
            indexshare_finish_reason_name(result->finish_reason));
  EXPECT_EQ(result->prompt_tokens, std::ssize(prompt));
  EXPECT_EQ(result->cached_tokens, 0);
  EXPECT_GT(result->prefill_seconds, 0);
  expect_same(result->logprobs, result->logprob_count, expected->logprobs);
  expect_same(result->prompt_logprobs, result->prompt_logprob_count, expected->prompt_logprobs);
  ASSERT_EQ(result->part_count, static_cast<size_t>(kParts));
  for (int i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    EXPECT_EQ(result->prefill_parts[i].name, part_name(part));
    EXPECT_EQ(result->prefill_parts[i].flops, expected->timings.prefill.flops(part));
    EXPECT_EQ(result->decode_parts[i].flops, expected->timings.decode.flops(part));
  }
}

TEST(CInterface, TellsWhatWasLoaded) {
  const EngineHandle engine = load_pocket();
  const indexshare_info* info = indexshare_engine_info(engine.get());
  auto cpp = Engine::load(testing::pocket_path());
  ASSERT_TRUE(cpp.ok());
  const ModelInfo& expected = cpp->info();
  EXPECT_EQ(info->path, expected.path);
  EXPECT_EQ(info->schedule, expected.schedule);
  EXPECT_EQ(info->isa, expected.isa);
  EXPECT_EQ(info->layers, expected.layers);
  EXPECT_EQ(info->vocab_size, expected.vocab_size);
  EXPECT_EQ(info->index_topk, expected.index_topk);
  EXPECT_EQ(info->context, expected.context);
  EXPECT_EQ(info->cache_bytes_per_token, expected.cache_bytes_per_token);
  EXPECT_EQ(std::vector(info->stop_ids, info->stop_ids + info->stop_id_count), expected.stop_ids);
  EXPECT_EQ(info->bos_id, expected.bos_id.value_or(-1));
  EXPECT_EQ(info->pad_id, expected.pad_id.value_or(-1));
  EXPECT_EQ(info->has_tokenizer, 1);
  EXPECT_EQ(info->has_chat_template, 1);
  EXPECT_EQ(info->options->threads, 2);
  EXPECT_EQ(info->options->context, info->context);
  EXPECT_NE(info->options->compute, INDEXSHARE_FLOAT_DEFAULT);
}

TEST(CInterface, TextGoesToIdsAndBackWithItsZeroBytes) {
  const EngineHandle engine = load_pocket();
  const std::string text("zero \0 byte, h\xc3\xa9", 16);
  const std::vector<int32_t> ids = encode(engine.get(), text);
  char* decoded = nullptr;
  size_t size = 0;
  ASSERT_EQ(indexshare_decode(engine.get(), ids.data(), ids.size(), 1, &decoded, &size), INDEXSHARE_OK);
  EXPECT_EQ(take(decoded, size), text);
  std::string bytes;
  for (const int32_t id : ids) {
    ASSERT_EQ(indexshare_token_bytes(engine.get(), id, &decoded, &size), INDEXSHARE_OK);
    bytes += take(decoded, size);
  }
  EXPECT_EQ(bytes, text);
  ASSERT_EQ(indexshare_decode(engine.get(), nullptr, 0, 1, &decoded, nullptr), INDEXSHARE_OK);
  EXPECT_EQ(take(decoded, 0), "");
}

/// What callbacks were told.
struct Heard {
  indexshare_engine* engine = nullptr;
  std::string text;
  int64_t pieces = 0, prompts = 0, limit = INT64_MAX;
  indexshare_status nested = INDEXSHARE_OK;
  std::string nested_error;
};

indexshare_request listening(const indexshare_engine* engine, const std::vector<int32_t>& prompt,
                             Heard& heard) {
  indexshare_request request = endless(engine, prompt);
  request.user = &heard;
  request.on_piece = [](void* user, const indexshare_piece* piece) {
    auto& own = *static_cast<Heard*>(user);
    own.text.append(piece->text, piece->text_size);
    return ++own.pieces < own.limit;
  };
  return request;
}

TEST(CInterface, ACallbackCancels) {
  const EngineHandle engine = load_pocket();
  const std::vector<int32_t> prompt = encode_question(engine.get());
  Heard heard;
  heard.limit = 3;
  const ResultHandle result = generate(engine.get(), listening(engine.get(), prompt, heard));
  ASSERT_TRUE(result);
  EXPECT_EQ(heard.pieces, 3);
  EXPECT_EQ(result->finish_reason, INDEXSHARE_FINISH_CANCELLED);
  EXPECT_EQ(heard.text, result->text);
}

TEST(CInterface, ACallbackCancelsWhileThePromptIsRead) {
  const EngineHandle engine = load_pocket();
  const std::vector<int32_t> prompt = encode_question(engine.get());
  Heard heard;
  indexshare_request request = listening(engine.get(), prompt, heard);
  request.on_prompt = [](void* user, int64_t done, int64_t total) {
    EXPECT_LE(done, total);
    ++static_cast<Heard*>(user)->prompts;
    return false;
  };
  const ResultHandle result = generate(engine.get(), request);
  ASSERT_TRUE(result);
  EXPECT_EQ(heard.prompts, 1);
  EXPECT_EQ(heard.pieces, 0);
  EXPECT_EQ(result->finish_reason, INDEXSHARE_FINISH_CANCELLED);
  EXPECT_EQ(result->id_count, 0U);
}

TEST(CInterface, ACallbackCannotWaitForTheEngine) {
  const EngineHandle engine = load_pocket();
  const std::vector<int32_t> prompt = encode_question(engine.get());
  Heard heard;
  heard.engine = engine.get();
  indexshare_request request = listening(engine.get(), prompt, heard);
  request.on_piece = [](void* user, const indexshare_piece* piece) {
    auto& own = *static_cast<Heard*>(user);
    const std::vector<int32_t> more = {piece->id};
    const indexshare_request inner = request_for(own.engine, more);
    own.nested = indexshare_generate(own.engine, &inner, nullptr);
    own.nested_error = indexshare_last_error();
    return false;
  };
  ASSERT_TRUE(generate(engine.get(), request));
  EXPECT_EQ(heard.nested, INDEXSHARE_INVALID);
  EXPECT_EQ(heard.nested_error, "called from a callback of a request: it would wait for itself");
}

TEST(CInterface, ThreadsGenerateAtOnceWhatEachGeneratesAlone) {
  const EngineHandle engine = load_pocket();
  const std::vector<int32_t> prompt = encode_question(engine.get());
  const auto answer = [&](uint64_t seed) {
    indexshare_request request = request_for(engine.get(), prompt);
    request.temperature = 1.5f;
    request.seed = seed;
    const ResultHandle result = generate(engine.get(), request);
    return result ? std::string(result->text) : std::string();
  };
  std::vector<std::string> alone(4), together(4);
  for (size_t i = 0; i < alone.size(); ++i) alone[i] = answer(i);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < together.size(); ++i) threads.emplace_back([&, i] { together[i] = answer(i); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
  EXPECT_NE(alone[1], alone[3]);
}

TEST(CInterface, AStreamGivesTheAnswerPieceByPiece) {
  const EngineHandle engine = load_pocket();
  const std::vector<int32_t> prompt = encode_question(engine.get());
  indexshare_request request = request_for(engine.get(), prompt);
  request.logprobs = 1;
  const ResultHandle expected = generate(engine.get(), request);
  const StreamHandle stream = open_stream(engine.get(), request);
  const indexshare_piece* piece = nullptr;
  std::string text;
  std::vector<int32_t> ids;
  while (indexshare_stream_wait(stream.get(), 60) == INDEXSHARE_OK &&
         indexshare_stream_next(stream.get(), &piece) == INDEXSHARE_OK) {
    text.append(piece->text, piece->text_size);
    if (piece->logprobs == nullptr) continue;  // what remained at the end
    EXPECT_EQ(piece->logprobs->logprob, expected->logprobs[ids.size()].logprob);
    EXPECT_EQ(piece->logprobs->top_count, 1U);
    ids.push_back(piece->id);
  }
  EXPECT_EQ(piece, nullptr);
  EXPECT_EQ(indexshare_stream_next(stream.get(), &piece), INDEXSHARE_END);
  int64_t read = 0;
  EXPECT_EQ(indexshare_stream_prompt_tokens(stream.get(), &read), INDEXSHARE_OK);
  indexshare_result* result = nullptr;
  ASSERT_EQ(indexshare_stream_result(stream.get(), &result), INDEXSHARE_OK);
  const ResultHandle owned(result);
  EXPECT_EQ(text, expected->text);
  EXPECT_STREQ(result->text, expected->text);
  ids.push_back(expected->ids[expected->id_count - 1]);  // the stop token is no piece
  EXPECT_EQ(ids, std::vector(expected->ids, expected->ids + expected->id_count));
  EXPECT_EQ(indexshare_stream_result(stream.get(), &result), INDEXSHARE_INVALID);
  EXPECT_STREQ(indexshare_last_error(), "the result of the stream was taken before");
}

TEST(CInterface, AStreamLeftEarlyIsCancelled) {
  const EngineHandle engine = load_pocket();
  const std::vector<int32_t> prompt = encode_question(engine.get());
  {
    const StreamHandle stream = open_stream(engine.get(), endless(engine.get(), prompt));
    const indexshare_piece* piece = nullptr;
    EXPECT_EQ(indexshare_stream_next(stream.get(), &piece), INDEXSHARE_OK);
  }
  indexshare_request after = request_for(engine.get(), prompt);
  after.max_tokens = 1;
  indexshare_statistics* counts = nullptr;
  do {  // it ends within a step of the engine
    generate(engine.get(), after);
    indexshare_statistics_free(counts);
    ASSERT_EQ(indexshare_engine_statistics(engine.get(), &counts), INDEXSHARE_OK);
  } while (counts->running > 0);
  const StatisticsHandle owned(counts);
  EXPECT_EQ(counts->cancelled, 1);
  EXPECT_GT(counts->steps, 0);
  EXPECT_EQ(counts->part_count, static_cast<size_t>(kParts));
  EXPECT_GT(counts->parts[0].flops, 0);
}

TEST(CInterface, AStreamIsCancelledFromAnotherThread) {
  const EngineHandle engine = load_pocket();
  const std::vector<int32_t> prompt = encode_question(engine.get());
  const StreamHandle stream = open_stream(engine.get(), endless(engine.get(), prompt));
  const indexshare_piece* piece = nullptr;
  ASSERT_EQ(indexshare_stream_next(stream.get(), &piece), INDEXSHARE_OK);
  std::thread other([&] { EXPECT_EQ(indexshare_stream_cancel(stream.get()), INDEXSHARE_OK); });
  while (indexshare_stream_next(stream.get(), &piece) == INDEXSHARE_OK) {
  }
  other.join();
  indexshare_result* result = nullptr;
  ASSERT_EQ(indexshare_stream_result(stream.get(), &result), INDEXSHARE_OK);
  EXPECT_EQ(ResultHandle(result)->finish_reason, INDEXSHARE_FINISH_CANCELLED);
}

TEST(CInterface, AStreamOutlivesItsEngine) {
  EngineHandle engine = load_pocket();
  const std::vector<int32_t> prompt = encode_question(engine.get());
  const indexshare_request request = request_for(engine.get(), prompt);
  const ResultHandle expected = generate(engine.get(), request);
  const StreamHandle stream = open_stream(engine.get(), request);
  engine.reset();
  indexshare_result* result = nullptr;
  ASSERT_EQ(indexshare_stream_result(stream.get(), &result), INDEXSHARE_OK);
  EXPECT_STREQ(ResultHandle(result)->text, expected->text);
}

/// Keeps the engine waiting in a callback until it is told to go on.
struct Gate {
  std::atomic<bool> reached = false, open = false;

  static bool wait(void* user, int64_t, int64_t) {
    auto& gate = *static_cast<Gate*>(user);
    gate.reached = true;
    gate.reached.notify_all();
    gate.open.wait(false);
    return true;
  }
};

TEST(CInterface, WaitingForAStreamEnds) {
  const EngineHandle engine = load_pocket();
  const std::vector<int32_t> prompt = encode_question(engine.get());
  Gate gate;
  indexshare_request request = request_for(engine.get(), prompt);
  request.user = &gate;
  request.on_prompt = Gate::wait;
  std::thread holding([&] { generate(engine.get(), request); });
  gate.reached.wait(false);
  const StreamHandle stream = open_stream(engine.get(), request_for(engine.get(), prompt));
  EXPECT_EQ(indexshare_stream_wait(stream.get(), 0), INDEXSHARE_TIMEOUT);
  EXPECT_EQ(indexshare_stream_wait(stream.get(), 0.01), INDEXSHARE_TIMEOUT);
  EXPECT_EQ(indexshare_stream_wait(stream.get(), -1), INDEXSHARE_INVALID);
  EXPECT_EQ(indexshare_stream_wait(stream.get(), 1e300), INDEXSHARE_INVALID);
  gate.open = true;
  gate.open.notify_all();
  EXPECT_EQ(indexshare_stream_wait(stream.get(), 60), INDEXSHARE_OK);
  holding.join();
}

TEST(CInterface, ASessionGoesOnWhereItWasSaved) {
  const TemporaryDirectory directory;
  const std::string file = (directory / "session").string();
  std::vector<int32_t> prompt;
  std::string text;
  {
    const EngineHandle engine = load_pocket();
    prompt = encode_question(engine.get());
    text = generate(engine.get(), request_for(engine.get(), prompt))->text;
    ASSERT_EQ(indexshare_save_session(engine.get(), file.c_str(), prompt.data(), prompt.size()),
              INDEXSHARE_OK)
        << indexshare_last_error();
  }
  const EngineHandle engine = load_pocket();
  int32_t* ids = nullptr;
  size_t count = 0;
  ASSERT_EQ(indexshare_restore_session(engine.get(), file.c_str(), &ids, &count), INDEXSHARE_OK)
      << indexshare_last_error();
  EXPECT_EQ(take(ids, count), prompt);
  const ResultHandle result = generate(engine.get(), request_for(engine.get(), prompt));
  EXPECT_EQ(result->text, text);
  EXPECT_EQ(result->cached_tokens, std::ssize(prompt) - 1);
}

}  // namespace
}  // namespace indexshare
