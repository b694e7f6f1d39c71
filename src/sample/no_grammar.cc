// Where the project is built without XGrammar (INDEXSHARE_GRAMMAR): every constraint is refused, clearly.
#include "base/error.h"
#include "sample/grammar.h"

namespace indexshare {

class Grammar {};
class GrammarCompiler::Impl {};
class GrammarMatcher::Impl {};

GrammarCompiler::GrammarCompiler(std::function<GrammarVocabulary()>) {}
GrammarCompiler::~GrammarCompiler() = default;

Result<std::shared_ptr<const Grammar>> GrammarCompiler::compile(const Constraint& constraint) {
  return make_error(ErrorCode::unsupported,
                    "{} is not supported: this program was built without structured output",
                    constraint_kind_name(constraint.kind));
}

// No grammar, no matcher.
bool GrammarCompiler::made(const Grammar&) const {
  return false;
}
GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar>, std::span<const int32_t>) {}
GrammarMatcher::GrammarMatcher(GrammarMatcher&&) noexcept = default;
GrammarMatcher& GrammarMatcher::operator=(GrammarMatcher&&) noexcept = default;
GrammarMatcher::~GrammarMatcher() = default;

Constraint::Kind GrammarMatcher::kind() const {
  return {};
}

std::span<const uint32_t> GrammarMatcher::allowed() const {
  return {};
}

bool GrammarMatcher::is_lost() const {
  return false;
}

bool GrammarMatcher::must_end() const {
  return false;
}

bool GrammarMatcher::accept(int32_t) {
  return false;
}

}  // namespace indexshare
