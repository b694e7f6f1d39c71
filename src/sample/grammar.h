// Binds an answer to a form: which tokens may come next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "indexshare/constraint.h"
#include "indexshare/result.h"

namespace indexshare {

/// The vocabulary that answers are written in.
struct GrammarVocabulary {
  /// The bytes of each token, by its id; empty for those that belong to no text.
  std::vector<std::string> tokens;
  /// Those of `tokens` that only a structural tag uses: what marks tool calls.
  std::vector<int32_t> markers;
};

/// Compiles constraints for one vocabulary, and keeps those that were used last. From any thread; it takes
/// milliseconds for most, and up to seconds for those of many rules.
class GrammarCompiler {
 public:
  /// `vocabulary` is asked once, when the first constraint comes.
  explicit GrammarCompiler(std::function<GrammarVocabulary()> vocabulary);
  ~GrammarCompiler();

  /// Fails for what is no schema, no regular expression..., for what is larger than anything that is meant,
  /// and for what cannot be kept to. The sentence begins with the constraint's kind.
  Result<std::shared_ptr<const Grammar>> compile(const Constraint& constraint);

  /// Whether this made it.
  bool made(const Grammar& grammar) const;

 private:
  friend class Grammar;
  struct Shared;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Follows one answer. Not thread-safe.
class GrammarMatcher {
 public:
  /// `stop_ids` may come where the answer may end.
  GrammarMatcher(std::shared_ptr<const Grammar> grammar, std::span<const int32_t> stop_ids);
  GrammarMatcher(GrammarMatcher&&) noexcept;
  GrammarMatcher& operator=(GrammarMatcher&&) noexcept;
  ~GrammarMatcher();

  /// Of the constraint.
  Constraint::Kind kind() const;

  /// A bit for each token that may come next, the lowest id in the lowest bit; valid until accept().
  std::span<const uint32_t> allowed() const;

  /// There were too many ways in which the text could be of the form: it cannot be followed any more, and
  /// nothing is allowed.
  bool is_lost() const;

  /// Nothing but a stop token may follow.
  bool must_end() const;

  /// Goes on with one of allowed() that is no stop token; false for another one, which changes nothing.
  bool accept(int32_t id);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace indexshare
