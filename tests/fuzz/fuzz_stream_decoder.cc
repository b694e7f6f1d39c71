// Any ids (two bytes each) streamed: whole characters that join to what decode() gives.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "text/stream_decoder.h"
#include "text/utf8.h"

namespace {

using indexshare::Tokenizer;

const Tokenizer& tokenizer() {
  static const Tokenizer kTokenizer = [] {
    indexshare::Result<Tokenizer> loaded =
        Tokenizer::load(INDEXSHARE_SOURCE_DIR "/models/pocket/tokenizer.json");
    if (!loaded) std::abort();
    return std::move(loaded).value();
  }();
  return kTokenizer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i + 1 < size; i += 2) ids.push_back((data[i] | data[i + 1] << 8) - 16);  // a few below 0
  for (const bool skip_special : {false, true}) {
    indexshare::StreamDecoder stream(tokenizer(), skip_special);
    std::string text;
    for (const int32_t id : ids) {
      const std::string piece = stream.push(id);
      if (!indexshare::is_utf8(piece)) std::abort();
      text += piece;
    }
    if (text + stream.flush() != tokenizer().decode(ids, skip_special)) std::abort();
  }
  return 0;
}
