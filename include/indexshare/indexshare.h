/* The C interface (C99): an engine, which is a loaded model that answers any number of requests at once.

     indexshare_engine* engine;
     if (indexshare_engine_load("models/pocket", NULL, &engine) != INDEXSHARE_OK) {
       fprintf(stderr, "%s\n", indexshare_last_error());
       return 1;
     }

   What holds for all of it:

   Errors. What can fail returns an indexshare_status. After a failure indexshare_last_error() has a sentence
   that names the file, field or parameter and what was expected. It is kept per thread, which needs neither
   a parameter in every call nor anything to free: read it in the thread that called, before the next failure.
   A null pointer where one is not allowed is INDEXSHARE_INVALID. No exception leaves the library. What was to
   be written through a pointer is NULL or 0 after a failure.

   Ownership. What you pass is read during the call and stays yours. What you get is the library's until it
   is freed by the function that its description names. All of these take NULL, and do nothing.

   Text is UTF-8. What you get ends with a zero byte that its size, in bytes, does not count; where it may
   hold zero bytes of its own, the size is what counts.

   Threads. All functions may be called from any thread. An engine may be used by many at once. A stream and a
   result belong to one thread at a time, but for indexshare_stream_cancel().

   Versions. The structs that you fill begin with their size, set by their init function; fields that a newer
   version adds at the end mean the default when they are zero. A program may run with a newer library, and
   with an older one as long as it leaves the fields that that one does not know at zero; otherwise it is
   INDEXSHARE_UNSUPPORTED. The structs that you get also grow at the end alone: use them by pointer. Elements
   of arrays do not change. Constants keep their values. All this holds while the major version stays. */
#ifndef INDEXSHARE_INDEXSHARE_H_
#define INDEXSHARE_INDEXSHARE_H_

/* NOLINTBEGIN(modernize-*): this is C. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "indexshare/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a call went. Positive: it failed. */
typedef enum indexshare_status {
  INDEXSHARE_TIMEOUT = -2,      /* no failure: nothing came in the time that was given */
  INDEXSHARE_END = -1,          /* no failure: the stream has ended */
  INDEXSHARE_OK = 0,            /* done */
  INDEXSHARE_INVALID = 1,       /* a parameter, or what a file holds, is not what was expected */
  INDEXSHARE_NOT_FOUND = 2,     /* there is no such file */
  INDEXSHARE_UNSUPPORTED = 3,   /* this model, or this version, cannot do what was asked */
  INDEXSHARE_OUT_OF_MEMORY = 4, /* it does not fit into the memory that may be used */
  INDEXSHARE_BUSY = 5,          /* too many requests are waiting: later it may work */
  INDEXSHARE_IO = 6,            /* the operating system refused to read or write */
  INDEXSHARE_UNEXPECTED = 7     /* what should not happen: a mistake in the library */
} indexshare_status;

/* "ok", "invalid", "not_found"..., never NULL; valid forever. */
INDEXSHARE_API const char* indexshare_status_name(indexshare_status status);

/* What went wrong in the last call of this thread that failed: a sentence, never NULL, empty when none has.
   Valid until the next failure in this thread. */
INDEXSHARE_API const char* indexshare_last_error(void);

/* The version of the library, "0.1.0"; valid forever. */
INDEXSHARE_API const char* indexshare_version(void);

/* Frees a text or ids that the library gave. */
INDEXSHARE_API void indexshare_free(void* memory);

/* ---- Loading a model ---------------------------------------------------------------------------------- */

typedef struct indexshare_engine indexshare_engine;

/* How activations, or the values of the cache, are held. */
enum { INDEXSHARE_FLOAT_DEFAULT = 0, INDEXSHARE_FLOAT_F32 = 1, INDEXSHARE_FLOAT_BF16 = 2 };

/* How the index keys of a full layer are kept: in the cache's type; in whole numbers of 8 bits under one
   scale per key; or in both forms, the second screening which keys are worth scoring by the first, so that
   the selection is that of PLAIN. */
enum { INDEXSHARE_KEYS_PLAIN = 0, INDEXSHARE_KEYS_INT8 = 1, INDEXSHARE_KEYS_SCREENED = 2 };

/* How an engine is set up. indexshare_options_init() sets the defaults, which fit the model and the machine.
 */
typedef struct indexshare_options {
  size_t struct_size;
  int64_t context;        /* tokens a sequence may have; 0: what the model may, or what fits into memory */
  int64_t cache_bytes;    /* budget of all caches; 0: what fits into memory */
  int64_t ram_bytes;      /* memory to stay inside; 0: what the machine has available */
  int64_t chunk;          /* tokens in one forward pass; 512 */
  int64_t max_running;    /* requests that are worked on at once, others wait; 64 */
  int64_t max_waiting;    /* requests that may wait, one more is INDEXSHARE_BUSY; 0: any number */
  double latent_norm_eps; /* of q_a_layernorm and kv_a_layernorm; 1e-6 */
  int32_t threads;        /* 0: one per processor */
  int32_t numa_nodes;     /* memory nodes to share work and caches over; 0: all, 1: none */
  int32_t compute;     /* INDEXSHARE_FLOAT_...; the default is bf16 for bf16 and fp8 checkpoints, else f32 */
  int32_t cache_dtype; /* INDEXSHARE_FLOAT_...; the default is as compute */
  int32_t index_keys;  /* INDEXSHARE_KEYS_...; PLAIN */
  int32_t reuse_prefixes; /* 1: keep the cache of finished requests for those that begin alike; 0: do not */
} indexshare_options;

/* Sets the defaults. `size` is sizeof(indexshare_options). */
INDEXSHARE_API indexshare_status indexshare_options_init(indexshare_options* options, size_t size);

/* Loads a model directory as published (config.json, safetensors, tokenizer.json, chat template) with
   `options`, or, for NULL, the defaults. What is wrong with either is found here, and what cannot fit into
   memory is refused. Free *engine with indexshare_engine_free(). */
INDEXSHARE_API indexshare_status indexshare_engine_load(const char* directory,
                                                        const indexshare_options* options,
                                                        indexshare_engine** engine);

/* Frees an engine. No other call may be using it. A stream that is still open goes on, and keeps the model
   loaded until it is freed as well. */
INDEXSHARE_API void indexshare_engine_free(indexshare_engine* engine);

/* What was loaded, and how. */
typedef struct indexshare_info {
  const char* path;
  const char* schedule; /* per layer F, builds an index, or S, shares the last one */
  const char* isa;      /* the kernels' instruction set, on which the last bits of results depend */
  int64_t layers;
  int64_t vocab_size;
  int64_t index_topk;            /* tokens that one token attends to at most */
  int64_t context;               /* tokens that prompt and answer may have together */
  int64_t memory_bytes;          /* planned for one sequence of `context` tokens */
  int64_t cache_bytes_per_token; /* of one sequence */
  const int32_t* stop_ids;       /* that end an answer */
  size_t stop_id_count;
  int32_t bos_id; /* -1: the model names none */
  int32_t pad_id; /* -1: the model names none */
  int32_t has_tokenizer;
  int32_t has_chat_template;
  const indexshare_options* options; /* with every default resolved */
} indexshare_info;

/* NULL where `engine` is. Belongs to the engine, and does not change. */
INDEXSHARE_API const indexshare_info* indexshare_engine_info(const indexshare_engine* engine);

/* ---- Text and token ids ------------------------------------------------------------------------------- */

/* The ids of `size` bytes of text. `plain` 1: the text of a special token is text like any other. Invalid
   UTF-8 counts as U+FFFD. INDEXSHARE_UNSUPPORTED where the model has no tokenizer. Free *ids with
   indexshare_free(). */
INDEXSHARE_API indexshare_status indexshare_encode(const indexshare_engine* engine, const char* text,
                                                   size_t size, int32_t plain, int32_t** ids, size_t* count);

/* The text of ids. `skip_special` 1: without that of special tokens. Bytes that make up no UTF-8 become
   U+FFFD. INDEXSHARE_UNSUPPORTED where the model has no tokenizer. Free *text with indexshare_free(). `size`
   may be NULL. */
INDEXSHARE_API indexshare_status indexshare_decode(const indexshare_engine* engine, const int32_t* ids,
                                                   size_t count, int32_t skip_special, char** text,
                                                   size_t* size);

/* The bytes that a token stands for, perhaps part of a character; none for an id without a token. Free *bytes
   with indexshare_free(). */
INDEXSHARE_API indexshare_status indexshare_token_bytes(const indexshare_engine* engine, int32_t id,
                                                        char** bytes, size_t* size);

/* The text of a prompt by the model's chat template. `variables` is a JSON object that ends with a zero byte:
   "messages", and what else the template reads: "tools", "enable_thinking", "reasoning_effort"...
   "add_generation_prompt" is true unless given. Free *text with indexshare_free(). `size` may be NULL. */
INDEXSHARE_API indexshare_status indexshare_render_chat(const indexshare_engine* engine,
                                                        const char* variables, char** text, size_t* size);

/* ---- Requests and answers ----------------------------------------------------------------------------- */

/* What is added to the logit of a token. */
typedef struct indexshare_logit_bias {
  int32_t id;
  float bias; /* -100 to 100 */
} indexshare_logit_bias;

/* A token, and its log-softmax by the model's own logits. */
typedef struct indexshare_logprob {
  int32_t id;
  float logprob;
} indexshare_logprob;

/* What the model thought of a token, and of those it would rather have had there. */
typedef struct indexshare_token_logprobs {
  float logprob;
  int64_t rank;                  /* 1: the most probable */
  const indexshare_logprob* top; /* best first */
  size_t top_count;
} indexshare_token_logprobs;

/* A piece of an answer as it becomes certain: one for each token but that which stops it, and for what text
   remains at the end. */
typedef struct indexshare_piece {
  const char* text; /* whole UTF-8, perhaps empty */
  size_t text_size;
  int32_t id;
  int32_t reasoning;                         /* 1: between <think> and </think> */
  const indexshare_token_logprobs* logprobs; /* NULL unless the request asked */
} indexshare_piece;

/* What is asked for. indexshare_request_init() sets the defaults. What it points to is read during the call
   that takes the request. */
typedef struct indexshare_request {
  size_t struct_size;
  const int32_t* prompt; /* 1 token or more, fewer than the context */
  size_t prompt_count;
  int64_t max_tokens;                      /* -1: as many as the context holds; 0: the prompt is only read */
  uint64_t seed;                           /* of the random choices; 0 */
  double timeout_seconds;                  /* from when the request is taken; 0: none */
  const indexshare_logit_bias* logit_bias; /* none */
  size_t logit_bias_count;
  const char* const* stop; /* the answer ends before one of these texts; none */
  size_t stop_count;
  const int32_t* stop_ids; /* beside the model's own; none */
  size_t stop_id_count;
  float temperature;        /* 0: always the most probable token */
  float top_p;              /* keep the fewest tokens that hold this share; 1: all */
  float min_p;              /* keep tokens at least this probable, in shares of the most probable one; 0 */
  float repetition_penalty; /* divides positive and multiplies negative logits of prompt and output; 1 */
  float frequency_penalty;  /* subtracted once per occurrence in the output; 0 */
  float presence_penalty;   /* subtracted once if the token occurs in the output; 0 */
  int32_t top_k;            /* keep this many tokens; 0: all */
  int32_t min_tokens;       /* no stop token or text before this many are out; 0 */
  int32_t logprobs; /* report the log-probability of each token and this many of the best, to 20; -1: no */
  int32_t prompt_logprobs; /* the same of the prompt, which is then read from its first token; -1: no */
  int32_t priority;        /* higher goes before lower, the earlier before the later; 0 */
  int32_t ignore_eos;      /* 1: the model's own stop ids do not stop */
  int32_t include_stop;    /* 1: the stop text that was met is part of the answer */
  int32_t whole_text;      /* 1: text is that of all tokens, special ones and reasoning included */
  /* Called by indexshare_generate() in the engine's thread, either may be NULL; false cancels the request.
     They should be quick, must not throw or jump, and may call none of the functions that wait: these answer
     INDEXSHARE_INVALID there. */
  bool (*on_prompt)(void* user, int64_t done, int64_t total);  /* tokens, before each pass over the prompt */
  bool (*on_piece)(void* user, const indexshare_piece* piece); /* valid during the call alone */
  void* user;
} indexshare_request;

/* Sets the defaults: no prompt, and the sampling and max_tokens that the model's generation_config.json asks
   for. `size` is sizeof(indexshare_request). */
INDEXSHARE_API indexshare_status indexshare_request_init(const indexshare_engine* engine,
                                                         indexshare_request* request, size_t size);

/* Why an answer ended. */
typedef enum indexshare_finish_reason {
  INDEXSHARE_FINISH_STOP = 0,      /* a stop token or text */
  INDEXSHARE_FINISH_LENGTH = 1,    /* max_tokens or the context */
  INDEXSHARE_FINISH_CANCELLED = 2, /* by whoever asked */
  INDEXSHARE_FINISH_TIMEOUT = 3    /* timeout_seconds */
} indexshare_finish_reason;

/* "stop", "length", "cancelled", "timeout"; empty for any other value. Valid forever. */
INDEXSHARE_API const char* indexshare_finish_reason_name(indexshare_finish_reason reason);

/* Wall time and FLOPs (2 per multiply-add of a matrix product) of one part of the model. */
typedef struct indexshare_part {
  const char* name; /* "index", "attention", "projections", "experts", "head", "other" */
  double seconds;
  int64_t flops;
} indexshare_part;

/* An answer. The parts are those of all passes that the request had a part in, its batch mates' included. */
typedef struct indexshare_result {
  const char* text; /* without stop token, stop text and reasoning */
  size_t text_size;
  const char* reasoning;
  size_t reasoning_size;
  const char* stop_text; /* the one that was met, or empty */
  size_t stop_text_size;
  const int32_t* ids; /* all that were generated, the stop token among them */
  size_t id_count;
  const indexshare_token_logprobs* logprobs; /* per id; NULL unless the request asked */
  size_t logprob_count;
  const indexshare_token_logprobs* prompt_logprobs; /* per prompt token but the first; NULL unless asked */
  size_t prompt_logprob_count;
  indexshare_finish_reason finish_reason;
  int64_t prompt_tokens;
  int64_t cached_tokens; /* of the prompt, that did not have to be read again */
  int64_t reasoning_tokens;
  double queue_seconds;
  double prefill_seconds;
  double decode_seconds;
  const indexshare_part* prefill_parts;
  const indexshare_part* decode_parts;
  size_t part_count; /* of each */
} indexshare_result;

/* Waits for an answer. *result is there also when the request was cancelled or ran out of time, with what
   there was by then; free it with indexshare_result_free(). `result` may be NULL. */
INDEXSHARE_API indexshare_status indexshare_generate(indexshare_engine* engine,
                                                     const indexshare_request* request,
                                                     indexshare_result** result);

INDEXSHARE_API void indexshare_result_free(indexshare_result* result);

/* ---- An answer as it comes ---------------------------------------------------------------------------- */

typedef struct indexshare_stream indexshare_stream;

/* Takes a request, whose callbacks must be NULL, and returns at once. Free *stream with
   indexshare_stream_free(). */
INDEXSHARE_API indexshare_status indexshare_stream_open(indexshare_engine* engine,
                                                        const indexshare_request* request,
                                                        indexshare_stream** stream);

/* Waits for the next piece. INDEXSHARE_END once the answer has ended, for whatever reason:
   indexshare_stream_result() tells. *piece belongs to the stream, and is valid until its next call. */
INDEXSHARE_API indexshare_status indexshare_stream_next(indexshare_stream* stream,
                                                        const indexshare_piece** piece);

/* Waits until indexshare_stream_next() would not, at most `seconds`, from 0 to 1,000,000: then it is
   INDEXSHARE_TIMEOUT. */
INDEXSHARE_API indexshare_status indexshare_stream_wait(indexshare_stream* stream, double seconds);

/* Prompt tokens read so far, 0 while the request waits. */
INDEXSHARE_API indexshare_status indexshare_stream_prompt_tokens(const indexshare_stream* stream,
                                                                 int64_t* count);

/* Ends the request within a step, as cancelled; nothing where it has ended already. From any thread. */
INDEXSHARE_API indexshare_status indexshare_stream_cancel(indexshare_stream* stream);

/* Waits for the end; pieces not taken are dropped. Once per stream. Free *result with
   indexshare_result_free(); it outlives the stream. */
INDEXSHARE_API indexshare_status indexshare_stream_result(indexshare_stream* stream,
                                                          indexshare_result** result);

/* Frees a stream. A request that has not ended is cancelled. */
INDEXSHARE_API void indexshare_stream_free(indexshare_stream* stream);

/* ---- Sessions and statistics -------------------------------------------------------------------------- */

/* Writes a sequence to a file: its tokens and all that the cache holds of them, read first where it holds
   less. The file is written whole or not at all. */
INDEXSHARE_API indexshare_status indexshare_save_session(indexshare_engine* engine, const char* file,
                                                         const int32_t* ids, size_t count);

/* Brings such a file back, and gives its tokens: a request that begins with them goes on from there, bit for
   bit. A file that is damaged, of another model or of another version is refused. Free *ids with
   indexshare_free(). */
INDEXSHARE_API indexshare_status indexshare_restore_session(indexshare_engine* engine, const char* file,
                                                            int32_t** ids, size_t* count);

/* Counts since the engine was loaded, and what it is doing now. */
typedef struct indexshare_statistics {
  int64_t running; /* requests */
  int64_t waiting;
  int64_t submitted;
  int64_t finished;
  int64_t failed;
  int64_t cancelled;
  int64_t preempted;
  int64_t prompt_tokens;
  int64_t cached_tokens;
  int64_t generated_tokens;
  int64_t steps;        /* forward passes */
  int64_t step_tokens;  /* of all passes */
  int64_t pages_in_use; /* held by running requests or kept for reuse */
  int64_t pages_kept;   /* of these, for reuse alone or as well */
  int64_t page_bytes;
  int64_t page_tokens;
  int64_t cache_bytes;
  int64_t cache_budget_bytes;
  const indexshare_part* parts;
  size_t part_count;
} indexshare_statistics;

/* Free *statistics with indexshare_statistics_free(). */
INDEXSHARE_API indexshare_status indexshare_engine_statistics(const indexshare_engine* engine,
                                                              indexshare_statistics** statistics);

INDEXSHARE_API void indexshare_statistics_free(indexshare_statistics* statistics);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-*) */

#endif
