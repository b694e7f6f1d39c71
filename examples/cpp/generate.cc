// Asks a model one question and prints its answer as it comes.
// Usage: generate [MODEL]     default: models/pocket
#include <indexshare/engine.h>

#include <iostream>

namespace {

int fail(const indexshare::Error& error) {
  std::cerr << "generate: " << error.message << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto engine = indexshare::Engine::load(argc > 1 ? argv[1] : "models/pocket");
  if (!engine.ok()) return fail(engine.error());

  // The question as the model's chat template puts it, in the model's tokens.
  const auto text =
      engine->render_chat(R"({"messages": [{"role": "user", "content": "What is a parrakeet?"}]})");
  if (!text.ok()) return fail(text.error());
  auto prompt = engine->encode(*text);
  if (!prompt.ok()) return fail(prompt.error());

  indexshare::GenerationRequest request = engine->default_request();
  request.prompt = std::move(*prompt);
  request.sampling.temperature = 1.5f;
  request.sampling.seed = 4;

  auto stream = engine->stream(std::move(request));
  if (!stream.ok()) return fail(stream.error());
  while (const auto piece = stream->next()) {
    if (!piece->reasoning) std::cout << piece->text << std::flush;
  }
  std::cout << '\n';

  const auto result = stream->result();
  if (!result.ok()) return fail(result.error());
  std::cerr << result->prompt_tokens << " prompt tokens, " << result->ids.size() << " generated, ended by "
            << finish_reason_name(result->finish_reason) << '\n';
  return 0;
}
