// What the C interface gives: structs that own what they point to, and plain memory for texts and ids.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "indexshare/engine.h"
#include "indexshare/indexshare.h"

namespace indexshare::c {

/// Log-probabilities of tokens, with all their best ones in one array.
class Logprobs {
 public:
  void assign(std::span<const TokenLogprobs> tokens);

  /// Null where there are none.
  const indexshare_token_logprobs* data() const { return tokens_.empty() ? nullptr : tokens_.data(); }
  size_t size() const { return tokens_.size(); }

 private:
  std::vector<indexshare_logprob> top_;
  std::vector<indexshare_token_logprobs> tokens_;
};

/// A piece, valid until the next one is shown.
class PieceView {
 public:
  const indexshare_piece* show(const GeneratedPiece& piece);

 private:
  Logprobs logprobs_;
  indexshare_piece piece_{};
};

using Parts = std::array<indexshare_part, kParts>;

class OwnedResult : public indexshare_result {
 public:
  explicit OwnedResult(GenerationResult result);
  OwnedResult(const OwnedResult&) = delete;
  OwnedResult& operator=(const OwnedResult&) = delete;

 private:
  GenerationResult owned_;
  Logprobs logprobs_, prompt_logprobs_;
  Parts prefill_parts_, decode_parts_;
};

class OwnedStatistics : public indexshare_statistics {
 public:
  explicit OwnedStatistics(const EngineStatistics& statistics);
  OwnedStatistics(const OwnedStatistics&) = delete;
  OwnedStatistics& operator=(const OwnedStatistics&) = delete;

 private:
  Parts parts_;
};

class OwnedInfo : public indexshare_info {
 public:
  /// `info` stays where it is.
  explicit OwnedInfo(const ModelInfo& info);
  OwnedInfo(const OwnedInfo&) = delete;
  OwnedInfo& operator=(const OwnedInfo&) = delete;

 private:
  indexshare_options options_;
};

/// A copy for indexshare_free(), with a zero byte after the text; `size` may be null.
void give(std::string_view text, char** out, size_t* size);
void give(std::span<const int32_t> ids, int32_t** out, size_t* count);

}  // namespace indexshare::c
