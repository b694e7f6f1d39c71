// What programs that are built already rely on: sizes, places and values of version 0.1, and what happens
// when program and library differ in version.
#include <cstddef>
#include <cstring>

#include "c/support.h"

namespace indexshare {
namespace {

TEST(CInterface, StructsAreLaidOutAsInVersion01) {
  EXPECT_EQ(sizeof(indexshare_options), 88U);
  EXPECT_EQ(offsetof(indexshare_options, struct_size), 0U);
  EXPECT_EQ(offsetof(indexshare_options, latent_norm_eps), 56U);
  EXPECT_EQ(offsetof(indexshare_options, reuse_prefixes), 84U);
  EXPECT_EQ(sizeof(indexshare_request), 176U);
  EXPECT_EQ(offsetof(indexshare_request, struct_size), 0U);
  EXPECT_EQ(offsetof(indexshare_request, temperature), 96U);
  EXPECT_EQ(offsetof(indexshare_request, whole_text), 148U);
  EXPECT_EQ(offsetof(indexshare_request, user), 168U);
  EXPECT_EQ(sizeof(indexshare_logit_bias), 8U);
  EXPECT_EQ(sizeof(indexshare_logprob), 8U);
  EXPECT_EQ(sizeof(indexshare_token_logprobs), 32U);
  EXPECT_EQ(sizeof(indexshare_part), 24U);
  // These may grow, but nothing in them moves.
  EXPECT_EQ(offsetof(indexshare_info, options), 104U);
  EXPECT_EQ(offsetof(indexshare_piece, logprobs), 24U);
  EXPECT_EQ(offsetof(indexshare_result, part_count), 168U);
  EXPECT_EQ(offsetof(indexshare_statistics, part_count), 152U);
}

TEST(CInterface, ConstantsHaveTheValuesOfVersion01) {
  EXPECT_EQ(INDEXSHARE_TIMEOUT, -2);
  EXPECT_EQ(INDEXSHARE_END, -1);
  EXPECT_EQ(INDEXSHARE_OK, 0);
  EXPECT_EQ(INDEXSHARE_INVALID, 1);
  EXPECT_EQ(INDEXSHARE_UNEXPECTED, 7);
  EXPECT_EQ(INDEXSHARE_FINISH_STOP, 0);
  EXPECT_EQ(INDEXSHARE_FINISH_TIMEOUT, 3);
  EXPECT_STREQ(indexshare_status_name(INDEXSHARE_OUT_OF_MEMORY), "out_of_memory");
  EXPECT_STREQ(indexshare_finish_reason_name(INDEXSHARE_FINISH_CANCELLED), "cancelled");
  EXPECT_STREQ(indexshare_version(), INDEXSHARE_VERSION);
}

/// The request of a version to come, with a field more.
struct LaterRequest {
  indexshare_request known;
  int64_t later = 1;
};

TEST(CInterface, TakesTheStructOfALaterVersionUnlessItSetsWhatIsNew) {
  const EngineHandle engine = load_pocket();
  LaterRequest request;
  ASSERT_EQ(indexshare_request_init(engine.get(), &request.known, sizeof(request)), INDEXSHARE_OK);
  EXPECT_EQ(request.known.struct_size, sizeof(request));
  EXPECT_EQ(request.later, 0);
  const std::vector<int32_t> prompt = encode_question(engine.get());
  request.known.prompt = prompt.data();
  request.known.prompt_count = prompt.size();
  request.known.max_tokens = 1;
  EXPECT_EQ(indexshare_generate(engine.get(), &request.known, nullptr), INDEXSHARE_OK);
  request.later = 5;
  EXPECT_EQ(indexshare_generate(engine.get(), &request.known, nullptr), INDEXSHARE_UNSUPPORTED);
  EXPECT_STREQ(indexshare_last_error(),
               "request sets a field that this version, " INDEXSHARE_VERSION ", does not know");
}

TEST(CInterface, RefusesStructsThatWereNotInitialised) {
  const EngineHandle engine = load_pocket();
  indexshare_request request;
  std::memset(&request, 0, sizeof(request));
  EXPECT_EQ(indexshare_generate(engine.get(), &request, nullptr), INDEXSHARE_INVALID);
  EXPECT_STREQ(indexshare_last_error(),
               "the size of request is 0, expected what indexshare_request_init() sets, at least 176");
  std::memset(&request, 0xff, sizeof(request));
  EXPECT_EQ(indexshare_generate(engine.get(), &request, nullptr), INDEXSHARE_INVALID);
  indexshare_options options;
  EXPECT_EQ(indexshare_options_init(&options, 8), INDEXSHARE_INVALID);
  std::memset(&options, 0, sizeof(options));
  indexshare_engine* none = nullptr;
  EXPECT_EQ(indexshare_engine_load("nowhere", &options, &none), INDEXSHARE_INVALID);
}

}  // namespace
}  // namespace indexshare
