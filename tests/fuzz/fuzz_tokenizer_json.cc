// Any text as tokenizer.json: what is accepted encodes and decodes without harm.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_level.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace {

/// The input with "@vocab@" replaced by a token for each byte, which the fuzzer would hardly write itself.
std::string with_vocabulary(std::string_view text) {
  static const std::string kVocabulary = [] {
    std::string list;
    for (int byte = 0; byte < 256; ++byte) {
      std::string name = indexshare::spell_bytes(std::string(1, static_cast<char>(byte)));
      if (name == "\"" || name == "\\") name.insert(0, "\\");
      list += (byte == 0 ? "\"" : ",\"") + name + "\":" + std::to_string(byte);
    }
    return list;
  }();
  constexpr std::string_view kMark = "@vocab@";
  const size_t mark = text.find(kMark);
  std::string result(text);
  if (mark != std::string_view::npos) result.replace(mark, kMark.size(), kVocabulary);
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const indexshare::Result<indexshare::Tokenizer> tokenizer =
      indexshare::Tokenizer::parse(with_vocabulary(text), "tokenizer.json");
  if (!tokenizer) {
    if (tokenizer.error().message.find("tokenizer.json") == std::string::npos) std::abort();
    return 0;
  }
  const std::string sample = " It's <s> \u00e9e\u0301 12 \n\n ab<t>\U00031350\xff ";
  for (const std::string& part : {sample, std::string(text.substr(0, 64))}) {
    const std::vector<int32_t> ids = tokenizer->encode(part);
    indexshare::StreamDecoder stream(*tokenizer);
    std::string streamed;
    for (const int32_t id : ids) {
      if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
      streamed += stream.push(id);
    }
    if (streamed + stream.flush() != tokenizer->decode(ids, false)) std::abort();
    for (const int32_t id : tokenizer->encode(part, indexshare::SpecialText::plain)) {
      if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
    }
  }
  return 0;
}
