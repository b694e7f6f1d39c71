// Any bytes as text for the pocket model's tokenizer: they come back from their ids.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/utf8.h"

namespace {

using indexshare::SpecialText;
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

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string repaired;
  indexshare::append_repaired(text, repaired);
  for (const SpecialText special : {SpecialText::parse, SpecialText::plain}) {
    const std::vector<int32_t> ids = tokenizer().encode(text, special);
    require(tokenizer().decode(ids, false) == repaired);
    require(tokenizer().encode(repaired, special) == ids);
    require(ids.size() <= repaired.size());
    for (const int32_t id : ids) require(special == SpecialText::parse || !tokenizer().is_special(id));
  }
  return 0;
}
