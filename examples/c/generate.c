/* Asks a model one question and prints its answer as it comes.
   Usage: generate [MODEL]     default: models/pocket */
#include <indexshare/indexshare.h>
#include <stdio.h>
#include <string.h>

static int fail(void) {
  fprintf(stderr, "generate: %s\n", indexshare_last_error());
  return 1;
}

/* The question as the model's chat template puts it, in the model's tokens. */
static indexshare_status encode_question(const indexshare_engine* engine, int32_t** ids, size_t* count) {
  char* text;
  indexshare_status status = indexshare_render_chat(
      engine, "{\"messages\": [{\"role\": \"user\", \"content\": \"What is a parrakeet?\"}]}", &text, NULL);
  if (status == INDEXSHARE_OK) status = indexshare_encode(engine, text, strlen(text), 0, ids, count);
  indexshare_free(text);
  return status;
}

static int answer(indexshare_engine* engine, const int32_t* prompt, size_t prompt_count) {
  indexshare_request request;
  if (indexshare_request_init(engine, &request, sizeof request) != INDEXSHARE_OK) return fail();
  request.prompt = prompt;
  request.prompt_count = prompt_count;
  request.temperature = 1.5f;
  request.seed = 4;

  indexshare_stream* stream;
  if (indexshare_stream_open(engine, &request, &stream) != INDEXSHARE_OK) return fail();
  const indexshare_piece* piece;
  while (indexshare_stream_next(stream, &piece) == INDEXSHARE_OK) {
    if (!piece->reasoning) fputs(piece->text, stdout);
    fflush(stdout);
  }
  putchar('\n');

  indexshare_result* result;
  const indexshare_status status = indexshare_stream_result(stream, &result);
  if (status == INDEXSHARE_OK) {
    fprintf(stderr, "%lld prompt tokens, %lld generated, ended by %s\n", (long long)result->prompt_tokens,
            (long long)result->id_count, indexshare_finish_reason_name(result->finish_reason));
  }
  indexshare_result_free(result);
  indexshare_stream_free(stream);
  return status == INDEXSHARE_OK ? 0 : fail();
}

int main(int argc, char** argv) {
  indexshare_engine* engine;
  if (indexshare_engine_load(argc > 1 ? argv[1] : "models/pocket", NULL, &engine) != INDEXSHARE_OK) {
    return fail();
  }
  int32_t* prompt;
  size_t prompt_count;
  const int code = encode_question(engine, &prompt, &prompt_count) == INDEXSHARE_OK
                       ? answer(engine, prompt, prompt_count)
                       : fail();
  indexshare_free(prompt);
  indexshare_engine_free(engine);
  return code;
}
