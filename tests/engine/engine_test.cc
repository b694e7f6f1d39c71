// Many requests at once: what each says is what it says alone; and requests that cannot be met.
#include "indexshare/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <future>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "golden/support.h"
#include "model/model.h"
#include "temporary_directory.h"

namespace indexshare {
namespace {

EngineOptions small_options() {
  EngineOptions options;
  options.threads = 2;
  options.chunk = 64;
  return options;
}

std::optional<Engine> load(const EngineOptions& options = small_options()) {
  auto engine = Engine::load(testing::pocket_path(), options);
  EXPECT_TRUE(engine.ok()) << engine.error().message;
  if (!engine.ok()) return std::nullopt;
  return std::move(engine).value();
}

GenerationRequest greedy(std::vector<int32_t> prompt, int64_t max_tokens = 8) {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 0;
  request.max_tokens = max_tokens;
  return request;
}

std::vector<int32_t> random_ids(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % 4000);
  return ids;
}

/// A request that goes on to the end of the context.
GenerationRequest endless() {
  GenerationRequest request = greedy(random_ids(20, 6));
  request.max_tokens.reset();
  request.ignore_eos = true;
  return request;
}

/// Requests of all kinds; some begin alike.
std::vector<GenerationRequest> many_requests(size_t count) {
  std::vector<GenerationRequest> requests;
  std::mt19937 random(11);
  const std::vector<int32_t> common = random_ids(600, 99);
  for (size_t i = 0; i < count; ++i) {
    GenerationRequest request;
    if (random() % 2 == 0) request.prompt.assign(common.begin(), common.begin() + 1 + random() % 600);
    const auto own = random_ids(1 + static_cast<int64_t>(random() % 150), static_cast<uint32_t>(i));
    request.prompt.insert(request.prompt.end(), own.begin(), own.end());
    request.sampling.temperature = random() % 3 == 0 ? 0.0f : 1.0f;
    request.sampling.seed = i;
    if (random() % 4 == 0) request.sampling.logprobs = 3;
    if (random() % 4 == 0) request.sampling.presence_penalty = 1.0f;
    if (random() % 5 == 0) request.prompt_logprobs = 1;
    request.max_tokens = static_cast<int64_t>(1 + random() % 40);
    request.priority = static_cast<int32_t>(random() % 2);
    requests.push_back(std::move(request));
  }
  return requests;
}

bool same(const std::vector<TokenLogprobs>& a, const std::vector<TokenLogprobs>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TokenLogprobs& x, const TokenLogprobs& y) {
                      return x.logprob == y.logprob && x.rank == y.rank &&
                             std::equal(x.top.begin(), x.top.end(), y.top.begin(), y.top.end(),
                                        [](const TokenLogprob& p, const TokenLogprob& q) {
                                          return p.id == q.id && p.logprob == q.logprob;
                                        });
                    });
}

void expect_same(const GenerationResult& a, const GenerationResult& b) {
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.finish_reason, b.finish_reason);
  EXPECT_TRUE(same(a.logprobs, b.logprobs));
  EXPECT_TRUE(same(a.prompt_logprobs, b.prompt_logprobs));
}

/// Each request alone, in an engine of one thread that keeps nothing.
std::vector<GenerationResult> alone(const std::vector<GenerationRequest>& requests) {
  EngineOptions options = small_options();
  options.reuse_prefixes = false;
  options.threads = 1;
  options.chunk = 512;
  std::vector<GenerationResult> results;
  auto engine = load(options);
  if (!engine) return results;
  for (const GenerationRequest& request : requests) {
    auto result = engine->generate(request);
    EXPECT_TRUE(result.ok()) << result.error().message;
    if (result.ok()) results.push_back(std::move(*result));
  }
  EXPECT_EQ(engine->statistics().pages_in_use, 0);
  return results;
}

void expect_together(Engine& engine, const std::vector<GenerationRequest>& requests,
                     const std::vector<GenerationResult>& expected) {
  ASSERT_EQ(expected.size(), requests.size());
  std::vector<Stream> streams;
  for (const GenerationRequest& request : requests) {
    auto stream = engine.stream(request);
    ASSERT_TRUE(stream.ok()) << stream.error().message;
    streams.push_back(std::move(*stream));
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    SCOPED_TRACE(i);
    std::string text;
    while (auto piece = streams[i].next()) text += piece->text;
    auto result = streams[i].result();
    ASSERT_TRUE(result.ok()) << result.error().message;
    expect_same(*result, expected[i]);
    EXPECT_EQ(text, result->text);
  }
}

TEST(Engine, SaysTogetherWhatEachRequestSaysAlone) {
  auto engine = load();
  ASSERT_TRUE(engine);
  const auto requests = many_requests(60);
  const auto expected = alone(requests);
  expect_together(*engine, requests, expected);
  expect_together(*engine, requests, expected);  // now that much is kept
  const EngineStatistics statistics = engine->statistics();
  EXPECT_GT(statistics.cached_tokens, 5000);
  EXPECT_EQ(statistics.finished, 120);
  int64_t generated = 0;
  for (const GenerationResult& result : expected) generated += 2 * std::ssize(result.ids);
  EXPECT_EQ(statistics.generated_tokens, generated);
  const auto& sizes = statistics.steps_by_tokens;
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), statistics.steps);
  EXPECT_EQ(statistics.running + statistics.waiting, 0);
  EXPECT_EQ(statistics.pages_in_use, statistics.pages_kept);
}

// With room for a few of the requests only, some must give their pages back in the middle of their answers.
TEST(Engine, SaysTheSameWhenPagesRunOut) {
  EngineOptions options = small_options();
  auto roomy = load(options);
  ASSERT_TRUE(roomy);
  options.cache_bytes = 12 * roomy->statistics().page_bytes;
  options.context = 2048;
  auto engine = load(options);
  ASSERT_TRUE(engine);
  std::vector<GenerationRequest> requests = many_requests(24);
  for (GenerationRequest& request : requests) request.max_tokens = 300;
  expect_together(*engine, requests, alone(requests));
  EXPECT_GT(engine->statistics().preempted, 0);
  EXPECT_LE(engine->statistics().cache_bytes, options.cache_bytes);
}

TEST(Engine, ReportsARequestThatTheCacheCannotHold) {
  EngineOptions options = small_options();
  auto roomy = load(options);
  ASSERT_TRUE(roomy);
  options.cache_bytes = 2 * roomy->statistics().page_bytes;
  options.context = 512;
  auto engine = load(options);
  ASSERT_TRUE(engine);
  EXPECT_TRUE(engine->generate(greedy(random_ids(500, 1), 4)).ok());
  options.context = 0;  // then nobody has promised that a sequence of any length has room
  engine = load(options);
  ASSERT_TRUE(engine);
  const auto result = engine->generate(greedy(random_ids(600, 1), 4));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::out_of_memory);
  EXPECT_TRUE(engine->generate(greedy(random_ids(500, 1), 4)).ok());
}

TEST(Engine, ReadsACommonBeginningOnce) {
  EngineOptions options = small_options();
  options.chunk = 512;
  auto engine = load(options);
  ASSERT_TRUE(engine);
  const auto prompt = random_ids(1500, 3);
  std::vector<Stream> streams;
  for (int i = 0; i < 8; ++i) streams.push_back(std::move(*engine->stream(greedy(prompt, 2))));
  std::vector<int32_t> ids;
  for (Stream& stream : streams) {
    auto result = stream.result();
    ASSERT_TRUE(result.ok());
    if (ids.empty()) ids = result->ids;
    EXPECT_EQ(result->ids, ids);
  }
  // one whole prompt, and of the others what stands behind the last page that is full
  EXPECT_LE(engine->statistics().prompt_tokens, 1500 + 7 * 256);
}

TEST(Engine, CountsWhatWasReusedOfAPrompt) {
  auto engine = load();
  ASSERT_TRUE(engine);
  const auto prompt = random_ids(700, 4);
  auto first = engine->generate(greedy(prompt, 5));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->cached_tokens, 0);
  EXPECT_EQ(first->prefix_end, PrefixEnd::nothing);
  auto again = engine->generate(greedy(prompt, 5));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->cached_tokens, 699);  // all but the last, whose logits are wanted
  EXPECT_EQ(again->prefix_end, PrefixEnd::whole);
  EXPECT_EQ(again->ids, first->ids);
  std::vector<int32_t> turn = prompt;
  turn.insert(turn.end(), first->ids.begin(), first->ids.end());
  turn.push_back(7);
  auto next = engine->generate(greedy(turn, 5));
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->cached_tokens, 704);  // the answer's last token was never run
  EXPECT_EQ(next->prefix_end, PrefixEnd::ended);
}

TEST(Engine, SaysInWhichMessageAPromptLeavesWhatWasKept) {
  auto engine = load();
  ASSERT_TRUE(engine);
  const auto ask = [&](std::string_view text) {
    auto result = engine->generate(greedy(*engine->encode(text), 2));
    EXPECT_TRUE(result.ok());
    return result.ok() ? std::move(*result) : GenerationResult();
  };
  ask("<|system|>Be brief.<|user|>What is a lamp?<|assistant|>");
  const auto next = ask("<|system|>Be brief.<|user|>What is a zebra?<|assistant|>");
  EXPECT_EQ(next.prefix_end, PrefixEnd::differs);
  EXPECT_EQ(next.cached_tokens, std::ssize(*engine->encode("<|system|>Be brief.<|user|>What is a")));
  EXPECT_EQ(next.prefix_message, 1);
  EXPECT_EQ(ask("<|user|>What?").prefix_end, PrefixEnd::nothing);
  EXPECT_EQ(ask("<|system|>Be loud.").prefix_message, 0);
  EXPECT_EQ(ask("zebra").prefix_message, -1);
}

// Pages that memory has no room for, and after a restart all of them, come from the disk.
TEST(Engine, ReadsFromTheDiskWhatMemoryDoesNotHold) {
  const TemporaryDirectory directory;
  std::vector<GenerationRequest> requests;
  for (uint32_t i = 0; i < 6; ++i) requests.push_back(greedy(random_ids(700 + 10 * i, 50 + i), 20));
  const auto expected = alone(requests);
  ASSERT_EQ(expected.size(), requests.size());
  EngineOptions options = small_options();
  options.context = 1024;
  options.cache_bytes = 8 * load()->statistics().page_bytes;
  options.disk_cache = (directory / "pages").string();
  std::vector<std::string> warnings;
  options.warn = [&](std::string_view text) { warnings.emplace_back(text); };
  for (int round = 0; round < 3; ++round) {
    auto engine = load(options);
    ASSERT_TRUE(engine);
    expect_together(*engine, requests, expected);
    for (size_t i = 0; i < requests.size(); ++i) {
      const auto result = engine->generate(requests[i]);
      ASSERT_TRUE(result.ok()) << result.error().message;
      expect_same(*result, expected[i]);
      EXPECT_GE(result->cached_tokens, round > 0 ? 512 : 0);
    }
    EXPECT_GE(engine->statistics().disk_pages_read, round > 0 ? 1 : 0);
  }
  EXPECT_TRUE(warnings.empty());
}

TEST(Engine, CancelsARequestThatWaitsForTheDisk) {
  const TemporaryDirectory directory;
  EngineOptions options = small_options();
  options.disk_cache = (directory / "pages").string();
  const auto prompt = random_ids(3000, 5);
  for (int round = 0; round < 5; ++round) {
    auto engine = load(options);
    ASSERT_TRUE(engine);
    Stream first = std::move(*engine->stream(greedy(prompt, 4)));
    first.cancel();
    ASSERT_TRUE(first.result().ok());
    EXPECT_TRUE(engine->generate(greedy(prompt, 4)).ok());
  }
}

TEST(Engine, GoesOnWithASessionThatAnotherEngineSaved) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "session";
  const auto prompt = random_ids(700, 8);
  GenerationRequest request = greedy(prompt, 30);
  request.sampling.temperature = 1;
  const auto expected = alone({request});
  ASSERT_EQ(expected.size(), 1u);
  {
    auto engine = load();
    ASSERT_TRUE(engine);
    const auto saved = engine->save_session(file, prompt);
    ASSERT_TRUE(saved.ok()) << saved.error().message;
    EXPECT_EQ(engine->statistics().pages_in_use, engine->statistics().pages_kept);
  }
  auto engine = load();
  ASSERT_TRUE(engine);
  const auto restored = engine->restore_session(file);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_EQ(*restored, prompt);
  const auto result = engine->generate(request);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->cached_tokens, 699);
  expect_same(*result, expected[0]);

  EngineOptions options = small_options();
  options.latent_norm_eps = 1e-5f;
  const auto other = load(options)->restore_session(file);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("was saved by another model"), std::string::npos);
  EXPECT_FALSE(engine->restore_session(directory.path() / "none").ok());
  options = small_options();
  options.reuse_prefixes = false;
  EXPECT_EQ(load(options)->save_session(file, prompt).error().code, ErrorCode::unsupported);
  EXPECT_EQ(load(options)->restore_session(file).error().code, ErrorCode::unsupported);
}

TEST(Engine, ScoresPrompts) {
  auto engine = load();
  ASSERT_TRUE(engine);
  const auto prompt = random_ids(150, 5);
  GenerationRequest request = greedy(prompt, 0);
  request.prompt_logprobs = 2;
  ASSERT_TRUE(engine->generate(greedy(prompt, 3)).ok());  // what is kept of it must not be in the way
  auto result = engine->generate(request);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->ids.empty());
  EXPECT_EQ(result->cached_tokens, 0);
  ASSERT_EQ(result->prompt_logprobs.size(), prompt.size() - 1);
  const auto runner = testing::load_runner(testing::pocket_path(), small_options());
  ASSERT_NE(runner, nullptr);
  Session session(*runner);
  testing::Trace trace(runner->config());
  testing::run(session, prompt, 150, trace);
  for (size_t i = 0; i + 1 < prompt.size(); ++i) {
    const std::vector<float>& row = trace.logits[i];
    double sum = 0;
    for (const float x : row) sum += std::exp(double{x});
    const TokenLogprobs& got = result->prompt_logprobs[i];
    EXPECT_NEAR(got.logprob, row[static_cast<size_t>(prompt[i + 1])] - std::log(sum), 1e-4);
    EXPECT_EQ(got.top.front().id, testing::argmax(row));
    ASSERT_EQ(got.top.size(), 2u);
    EXPECT_EQ(got.rank == 1, got.top.front().id == prompt[i + 1]);
  }
}

TEST(Engine, EndsACancelledRequestAndGoesOnWithTheOthers) {
  auto engine = load();
  ASSERT_TRUE(engine);
  GenerationRequest request = greedy(random_ids(20, 6), 2000);
  request.ignore_eos = true;
  auto stream = engine->stream(request);
  auto other = engine->stream(greedy(random_ids(20, 7), 5));
  ASSERT_TRUE(stream.ok() && other.ok());
  ASSERT_TRUE(stream->next().has_value());
  stream->cancel();
  auto result = stream->result();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->finish_reason, FinishReason::cancelled);
  EXPECT_LT(result->ids.size(), 2000u);
  auto rest = other->result();
  ASSERT_TRUE(rest.ok());
  EXPECT_NE(rest->finish_reason, FinishReason::cancelled);
}

TEST(Engine, EndsRequestsThatTakeTooLong) {
  auto engine = load();
  ASSERT_TRUE(engine);
  GenerationRequest request = endless();
  request.timeout_seconds = 0.05;
  auto result = engine->generate(request);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->finish_reason, FinishReason::timeout);
}

TEST(Engine, EndsWhatIsRunningWhenItIsLeft) {
  auto engine = load();
  ASSERT_TRUE(engine);
  GenerationRequest request = endless();
  std::atomic<int> ended = 0;
  for (int i = 0; i < 5; ++i) {
    GenerationCallbacks callbacks;
    callbacks.on_end = [&](const Result<GenerationResult>& result) {
      EXPECT_TRUE(result.ok() && result.value().finish_reason == FinishReason::cancelled);
      ++ended;
    };
    ASSERT_TRUE(engine->submit(request, callbacks).ok());
  }
  engine.reset();
  EXPECT_EQ(ended, 5);
}

TEST(Engine, TakesRequestsFromCallbacksUntilItIsLeft) {
  auto engine = load();
  ASSERT_TRUE(engine);
  Engine* served = &*engine;
  std::atomic<int> answered = 0;
  std::promise<void> chain;
  std::function<void()> ask = [&] {
    GenerationCallbacks callbacks;
    callbacks.on_end = [&](const Result<GenerationResult>& result) {
      EXPECT_TRUE(result.ok());
      if (++answered == 5) chain.set_value();
      ask();
    };
    const auto id = served->submit(greedy({1, 2, 3}, 2), callbacks);
    if (!id.ok()) {
      EXPECT_EQ(id.error().message, "the engine is being closed");
    }
  };
  ask();
  chain.get_future().wait();
  engine.reset();
  EXPECT_GE(answered, 5);
}

TEST(Engine, RefusesOneRequestTooMany) {
  EngineOptions options = small_options();
  options.max_running = 1;
  options.max_waiting = 2;
  auto engine = load(options);
  ASSERT_TRUE(engine);
  GenerationRequest request = endless();
  std::vector<Stream> streams;
  streams.push_back(std::move(*engine->stream(request)));
  ASSERT_TRUE(streams.front().next().has_value());  // it runs
  for (int i = 0; i < 2; ++i) {
    auto stream = engine->stream(request);
    ASSERT_TRUE(stream.ok()) << stream.error().message;
    streams.push_back(std::move(*stream));
  }
  const auto refused = engine->stream(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
}

TEST(Engine, ServesManyThreads) {
  auto engine = load();
  ASSERT_TRUE(engine);
  const auto requests = many_requests(20);
  const auto expected = alone(requests);
  ASSERT_EQ(expected.size(), requests.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < requests.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) {
        const auto result = engine->generate(requests[i]);
        ASSERT_TRUE(result.ok());
        expect_same(result.value(), expected[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Engine, StopsAtTextsAndShowsThemWhereAsked) {
  auto engine = load();
  ASSERT_TRUE(engine);
  const auto prompt =
      engine->render_chat(R"({"messages": [{"role": "user", "content": "What is a parrakeet?"}]})");
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  GenerationRequest request = greedy(engine->encode(*prompt).value(), 100);
  const std::string whole = engine->generate(request)->text;
  ASSERT_GT(whole.size(), 20u);
  request.stop = {whole.substr(12, 4)};
  const size_t at = whole.find(request.stop[0]);
  auto result = engine->generate(request);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->text, whole.substr(0, at));
  EXPECT_EQ(result->stop_text, request.stop[0]);
  EXPECT_EQ(result->finish_reason, FinishReason::stop);
  request.include_stop = true;
  EXPECT_EQ(engine->generate(request)->text, whole.substr(0, at) + request.stop[0]);
  request.sampling.min_tokens = static_cast<int32_t>(result->ids.size());
  EXPECT_EQ(engine->generate(request)->text, whole);  // the text stood before the answer might end
}

TEST(Engine, ClosesReasoningOnceWhenItsBudgetIsSpent) {
  auto engine = load();
  ASSERT_TRUE(engine);
  const int32_t think = engine->encode("<think>")->at(0), end_think = engine->encode("</think>")->at(0);
  const auto prompt = engine->encode("What is a parrakeet?<think>").value();
  GenerationRequest request = greedy(prompt, 20);
  request.ignore_eos = true;
  request.sampling.logprobs = 1;
  request.sampling.logit_bias = {{end_think, -100.0f}, {think, -100.0f}};
  const auto endless = engine->generate(request).value();
  EXPECT_EQ(endless.reasoning_tokens, 20);

  for (const bool whole_text : {false, true}) {
    request.whole_text = whole_text;
    request.max_reasoning_tokens = 5;
    const auto cut = engine->generate(request).value();
    EXPECT_EQ(cut.reasoning_tokens, 5);
    EXPECT_TRUE(std::equal(cut.ids.begin(), cut.ids.begin() + 5, endless.ids.begin()));
    EXPECT_EQ(cut.ids[5], end_think);
    EXPECT_EQ(cut.ids.size(), 20u);
    EXPECT_EQ(cut.logprobs.size(), 20u);
    EXPECT_GT(cut.logprobs[5].rank, 1);  // it was not the model's choice
    EXPECT_EQ(cut.text.find("</think>") != std::string::npos, whole_text);
  }
  request.whole_text = false;
  // What the model would say again and again is said once, and no more when the answer has begun.
  request.sampling.logit_bias = {{end_think, 100.0f}, {think, 90.0f}};
  request.max_reasoning_tokens = 0;
  const auto closed = engine->generate(request).value();
  EXPECT_EQ(closed.ids[0], end_think);
  EXPECT_EQ(std::count(closed.ids.begin(), closed.ids.end(), end_think), 1);
  EXPECT_EQ(std::count(closed.ids.begin(), closed.ids.end(), think), 0);
  // An answer without reasoning has none to close.
  request = greedy(engine->encode("What is a parrakeet?").value());
  const auto plain = engine->generate(request).value();
  request.max_reasoning_tokens = 0;
  EXPECT_EQ(engine->generate(request)->ids, plain.ids);
}

TEST(Engine, RunsUnderAnotherSchedule) {
  EngineOptions options = small_options();
  options.schedule = "FSSSSSS";
  auto shared = load(options);
  auto engine = load();
  EXPECT_EQ(engine->info().options.schedule, "FFFSSSF");
  EXPECT_EQ(shared->info().schedule, "FSSSSSS");
  EXPECT_LT(shared->info().cache_bytes_per_token, engine->info().cache_bytes_per_token);

  // Longer than index_topk, so that it matters who selects.
  GenerationRequest request = greedy(random_ids(200, 3), 1);
  request.sampling.logprobs = 1;
  EXPECT_NE(shared->generate(request)->logprobs[0].logprob, engine->generate(request)->logprobs[0].logprob);

  // Its caches are not those of the model's own.
  const TemporaryDirectory directory;
  const auto file = directory.path() / "session";
  ASSERT_TRUE(engine->save_session(file, request.prompt).ok());
  EXPECT_FALSE(shared->restore_session(file).ok());
}

TEST(Engine, RefusesSchedulesThatTheModelCannotFollow) {
  const std::pair<const char*, const char*> cases[] = {
      {"FFF", "schedule is \"FFF\", expected 7 letters, F (full) or S (shared) for each layer"},
      {"FFFSSSX", "schedule is \"FFFSSSX\", expected 7 letters, F (full) or S (shared) for each layer"},
      {"SFFSSSF", "schedule makes layer 0 a shared layer, but no layer before it has an index to share"},
      {"FFFSFSF", "schedule makes layer 4 a full layer, but the model has no indexer there"}};
  for (const auto& [schedule, sentence] : cases) {
    EngineOptions options = small_options();
    options.schedule = schedule;
    const auto engine = Engine::load(testing::pocket_path(), options);
    ASSERT_FALSE(engine.ok()) << schedule;
    EXPECT_EQ(engine.error().message, sentence);
  }
}

TEST(Engine, RefusesRequestsThatCannotBeMet) {
  auto engine = load();
  ASSERT_TRUE(engine);
  auto message = [&](const GenerationRequest& request) {
    const auto result = engine->generate(request);
    return result.ok() ? std::string("done") : result.error().message;
  };
  EXPECT_EQ(message(greedy({1, 2, 3})), "done");
  EXPECT_EQ(message(greedy({})), "the prompt is empty: at least one token is needed");
  EXPECT_EQ(message(greedy({4096})), "prompt token id 4096 is outside the vocabulary of 4096 tokens");
  EXPECT_EQ(message(greedy({1}, -1)), "max_tokens is -1, expected 0 or more");
  GenerationRequest request = greedy({1});
  request.sampling.min_tokens = 9;
  EXPECT_EQ(message(request), "min_tokens is 9, more than max_tokens 8");
  request = greedy({1});
  request.max_reasoning_tokens = -1;
  EXPECT_EQ(message(request), "max_reasoning_tokens is -1, expected 0 or more");
  request = greedy({1});
  request.stop_ids = {4096};
  EXPECT_EQ(message(request), "stop token id 4096 is outside the vocabulary of 4096 tokens");
  request = greedy({1});
  request.stop = {""};
  EXPECT_EQ(message(request), "a stop string is empty");
  request = greedy({1});
  request.prompt_logprobs = 21;
  EXPECT_EQ(message(request), "prompt_logprobs is 21, expected a count from 0 to 20");
  request = greedy({1});
  request.timeout_seconds = -1;
  EXPECT_EQ(message(request), "timeout_seconds is -1, expected 0 (none) to 1000000000");
  EXPECT_EQ(message(greedy(random_ids(engine->info().context, 1))),
            "the prompt of 131072 tokens leaves no room in the context of 131072");
}

TEST(Engine, SaysWhenNoLogitIsANumber) {
  const auto runner = testing::load_runner(testing::pocket_path(), {});
  ASSERT_NE(runner, nullptr);
  Weights weights = runner->model().weights();
  weights.norm.assign(weights.norm.size(), std::nanf(""));
  auto broken = ModelRunner::create(runner->config(), std::move(weights), {});
  ASSERT_TRUE(broken.ok()) << broken.error().message;
  Engine engine(std::move(*broken));
  const auto result = engine.generate(greedy({1, 2, 3}));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("not finite"), std::string::npos) << result.error().message;
  EXPECT_EQ(engine.statistics().failed, 1);
}

TEST(Engine, RunsATaskBetweenSteps) {
  auto engine = load();
  ASSERT_TRUE(engine);
  GenerationRequest request = endless();
  auto stream = engine->stream(request);
  ASSERT_TRUE(stream.ok());
  int64_t vocab = 0;
  engine->run_exclusive([&](ModelRunner& runner) { vocab = runner.config().vocab_size; });
  EXPECT_EQ(vocab, engine->info().vocab_size);
}

/// What each token selected in each full layer, from number `first` on.
class Selections : public Probe {
 public:
  explicit Selections(int64_t first) : next_(first) {}

  void hidden(int64_t stage, Tensor x) override {
    if (stage == 0) first_ = std::exchange(next_, next_ + x.rows);
  }
  void selection(int64_t layer, const Selection& selection) override {
    for (int64_t t = first_; t < next_; ++t) {
      const auto positions = selection[t - first_];
      of[{layer, t}] = std::vector<int32_t>(positions.begin(), positions.end());
    }
  }
  void routing(int64_t, const Routing&) override {}

  std::map<std::pair<int64_t, int64_t>, std::vector<int32_t>> of;  // by layer and token

 private:
  int64_t first_ = 0, next_;
};

TEST(Engine, ShowsWhatTokensSelectedWhereverItBegins) {
  auto engine = load();
  ASSERT_TRUE(engine);
  const auto ids = random_ids(300, 5);
  Selections all(1);
  ASSERT_TRUE(engine->observe(ids, 1, all, [] { return true; }).ok());
  EXPECT_EQ(all.of.size(),
            299 * std::count(engine->info().schedule.begin(), engine->info().schedule.end(), 'F'));
  for (const int64_t first : {130, 256, 299}) {
    Selections last(first);
    const auto work = engine->observe(ids, first, last, [] { return true; });
    ASSERT_TRUE(work.ok()) << work.error().message;
    EXPECT_GT(work->flops(Part::index), 0);
    EXPECT_EQ(last.of.size(), all.of.size() / 299 * static_cast<size_t>(300 - first));
    for (const auto& [key, positions] : last.of) EXPECT_EQ(positions, all.of.at(key));
  }
  EXPECT_EQ(engine->statistics().running, 0);

  Selections none(250);
  const auto unwanted = engine->observe(random_ids(300, 6), 250, none, [] { return false; });
  ASSERT_FALSE(unwanted.ok());
  EXPECT_EQ(unwanted.error().code, ErrorCode::busy);
  EXPECT_TRUE(none.of.empty());
  EngineOptions options = small_options();
  options.reuse_prefixes = false;
  EXPECT_EQ(load(options)->observe(ids, 250, none, [] { return true; }).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace indexshare
