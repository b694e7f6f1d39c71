#include "sample/grammar.h"

#include <xgrammar/xgrammar.h>

#include <algorithm>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "sample/constraint.h"

namespace indexshare {
namespace {

// A small grammar can be any amount of work, to compile and to follow. Steps of XGrammar's parser are counted
// rather than seconds, so that what is refused does not depend on the machine or on what else it does.
constexpr int64_t kCompileSteps = 30'000'000;
constexpr int64_t kTokenSteps = 2'000'000;     // for one token, while all other answers wait
constexpr int64_t kAnswerSteps = 100'000'000;  // for all of an answer, which keeps what each step found

struct TooManySteps : std::exception {
  const char* what() const noexcept override { return "too many steps"; }
};

thread_local int64_t steps_left = 0;
thread_local std::string warning;  // the first since it was cleared: what XGrammar does not keep to

/// Lets XGrammar go so many steps on this thread, while it lives.
class Steps {
 public:
  explicit Steps(int64_t allowed) : allowed_(allowed) { steps_left = allowed; }
  ~Steps() { steps_left = 0; }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  int64_t taken() const { return allowed_ - steps_left; }

 private:
  int64_t allowed_;
};

}  // namespace
}  // namespace indexshare

// What tools/xgrammar.sh leaves to us.
namespace xgrammar {

void CountStep();

void CountStep() {
  if (--indexshare::steps_left < 0) throw indexshare::TooManySteps();
}

[[noreturn]] void LogFatalImpl(const std::string& file, int line, const std::string& message);
void LogMessageImpl(const std::string& file, int line, int level, const std::string& message);

void LogFatalImpl(const std::string&, int, const std::string& message) {
  throw std::runtime_error(message);
}

void LogMessageImpl(const std::string&, int, int level, const std::string& message) {
  constexpr int kWarning = 2;
  if (level >= kWarning && indexshare::warning.empty()) indexshare::warning = message;
}

}  // namespace xgrammar

namespace indexshare {
namespace {

constexpr int kCompileThreads = 1;  // what is thrown on other threads ends the process
constexpr size_t kKept = 64, kKeptBytes = size_t{128} << 20;

using Kind = Constraint::Kind;
using Bitmask = std::vector<uint32_t>;

bool is_set(const Bitmask& mask, size_t id) {
  return ((mask[id / 32] >> (id % 32)) & 1) != 0;
}

// XGrammar's sentences end in anything, and some go over several lines.
Error refused(const Constraint& constraint, std::string_view what) {
  std::string sentence(what.substr(0, 500));
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  while (!sentence.empty() && (sentence.back() == ' ' || sentence.back() == '.')) sentence.pop_back();
  return make_error("{} was not understood: {}", constraint_kind_name(constraint.kind), sentence);
}

std::string tag_of(const std::vector<std::string>& choices) {
  Json elements = Json::array();
  for (const std::string& choice : choices) elements.push_back({{"type", "const_string"}, {"value", choice}});
  return dump_json(
      {{"type", "structural_tag"}, {"format", {{"type", "or"}, {"elements", std::move(elements)}}}});
}

}  // namespace

// What all grammars of a compiler share.
struct GrammarCompiler::Shared {
  std::vector<int32_t> markers;  // as in GrammarVocabulary
};

class Grammar {
 public:
  Grammar(Constraint::Kind kind, xgrammar::CompiledGrammar compiled,
          std::shared_ptr<const GrammarCompiler::Shared> shared)
      : kind_(kind), compiled_(std::move(compiled)), shared_(std::move(shared)) {}

  Constraint::Kind kind() const { return kind_; }
  const std::shared_ptr<const GrammarCompiler::Shared>& shared() const { return shared_; }
  const xgrammar::CompiledGrammar& compiled() const { return compiled_; }
  /// Tokens that are never allowed, whatever their text.
  std::span<const int32_t> hidden() const {
    return kind_ == Constraint::Kind::structural_tag ? std::span<const int32_t>() : shared_->markers;
  }
  /// A token beside the model's own, by which XGrammar says that the text may end.
  size_t end_id() const { return static_cast<size_t>(compiled_.GetTokenizerInfo().GetVocabSize()) - 1; }

 private:
  Constraint::Kind kind_;
  xgrammar::CompiledGrammar compiled_;
  std::shared_ptr<const GrammarCompiler::Shared> shared_;
};

/// The grammars that were used last. XGrammar's own cache would also keep all that it has refused.
class KeptGrammars {
 public:
  std::shared_ptr<const Grammar> find(const Constraint& constraint) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.constraint == constraint; });
    if (found == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found);
    return found->grammar;
  }

  void add(const Constraint& constraint, std::shared_ptr<const Grammar> grammar) {
    const std::lock_guard lock(mutex_);
    bytes_ += grammar->compiled().MemorySizeBytes();
    entries_.push_front({constraint, std::move(grammar)});
    while (entries_.size() > kKept || bytes_ > kKeptBytes) {
      bytes_ -= entries_.back().grammar->compiled().MemorySizeBytes();
      entries_.pop_back();
    }
  }

 private:
  struct Entry {
    Constraint constraint;
    std::shared_ptr<const Grammar> grammar;
  };

  std::mutex mutex_;
  std::list<Entry> entries_;  // the latest first
  size_t bytes_ = 0;
};

class GrammarCompiler::Impl {
 public:
  explicit Impl(std::function<GrammarVocabulary()> vocabulary) : vocabulary_(std::move(vocabulary)) {}

  Result<std::shared_ptr<const Grammar>> compile(const Constraint& constraint) {
    if (auto grammar = kept_.find(constraint)) return grammar;
    RETURN_IF_ERROR(validate(constraint));
    try {
      prepare();
      const Steps steps(kCompileSteps);
      warning.clear();
      auto grammar = std::make_shared<const Grammar>(constraint.kind, compiled(constraint), shared_);
      if (constraint.kind == Kind::json_schema && !warning.empty()) return refused(constraint, warning);
      kept_.add(constraint, grammar);
      return grammar;
    } catch (const TooManySteps&) {
      return make_error("{} is too large: there are too many ways in which its answers go on",
                        constraint_kind_name(constraint.kind));
    } catch (const std::exception& error) {
      return refused(constraint, error.what());
    }
  }

  bool made(const Grammar& grammar) const { return grammar.shared() == shared_; }

 private:
  void prepare() {
    std::call_once(prepared_, [this] {
      GrammarVocabulary vocabulary = vocabulary_();
      shared_->markers = std::move(vocabulary.markers);
      vocabulary.tokens.emplace_back();  // Grammar::end_id()
      const std::vector<int32_t> stop_ids = {static_cast<int32_t>(vocabulary.tokens.size()) - 1};
      compiler_.emplace(
          xgrammar::TokenizerInfo(vocabulary.tokens, xgrammar::VocabType::RAW, std::nullopt, stop_ids),
          kCompileThreads, /*cache_enabled=*/false);
    });
  }

  xgrammar::CompiledGrammar compiled(const Constraint& constraint) {
    const auto by_schema = [this](const std::string& schema, bool strict) {
      return compiler_->CompileJSONSchema(schema, /*any_whitespace=*/true, std::nullopt, std::nullopt, strict,
                                          kMaxJsonWhitespace);
    };
    switch (constraint.kind) {
      case Kind::json_object: return by_schema(R"({"type":"object"})", /*strict=*/false);
      case Kind::json_schema: return by_schema(constraint.text, /*strict=*/true);
      case Kind::regex: return compiler_->CompileRegex(constraint.text);
      case Kind::choice: return compiler_->CompileStructuralTag(tag_of(constraint.choices));
      case Kind::grammar: return compiler_->CompileGrammar(constraint.text);
      case Kind::structural_tag: return compiler_->CompileStructuralTag(constraint.text);
    }
    throw std::invalid_argument("it is of no kind");
  }

  std::function<GrammarVocabulary()> vocabulary_;
  std::once_flag prepared_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::optional<xgrammar::GrammarCompiler> compiler_;
  KeptGrammars kept_;
};

GrammarCompiler::GrammarCompiler(std::function<GrammarVocabulary()> vocabulary)
    : impl_(std::make_unique<Impl>(std::move(vocabulary))) {}
GrammarCompiler::~GrammarCompiler() = default;

Result<std::shared_ptr<const Grammar>> GrammarCompiler::compile(const Constraint& constraint) {
  return impl_->compile(constraint);
}

bool GrammarCompiler::made(const Grammar& grammar) const {
  return impl_->made(grammar);
}

class GrammarMatcher::Impl {
 public:
  Impl(std::shared_ptr<const Grammar> grammar, std::span<const int32_t> stop_ids)
      : grammar_(std::move(grammar)),
        stop_ids_(stop_ids.begin(), stop_ids.end()),
        mask_(grammar_->end_id() / 32 + 1) {
    const auto begin = [this] {
      matcher_.emplace(grammar_->compiled());
      return true;
    };
    if (within_bounds(begin)) update();
  }

  Constraint::Kind kind() const { return grammar_->kind(); }
  const Bitmask& mask() const { return mask_; }
  bool must_end() const { return must_end_; }
  bool is_lost() const { return lost_; }

  bool accept(int32_t id) {
    if (!is_set(mask_, static_cast<size_t>(id))) return false;
    const bool taken = within_bounds([&] { return matcher_->AcceptToken(id); });
    if (taken) update();
    return taken;
  }

 private:
  /// Runs `task`; false where it is too much, or fails, which it should not.
  template <typename F>
  bool within_bounds(F&& task) {
    const Steps steps(std::min(kTokenSteps, steps_left_));
    try {
      const bool done = task();
      steps_left_ -= steps.taken();
      return done;
    } catch (const std::exception&) {
      lost_ = true;
      must_end_ = false;
      std::fill(mask_.begin(), mask_.end(), 0);
      return false;
    }
  }

  void update() {
    within_bounds([this] {
      fill();
      return true;
    });
  }

  void fill() {
    int64_t size = std::ssize(mask_);
    must_end_ = false;
    DLTensor tensor = {.data = mask_.data(),
                       .device = {.device_type = kDLCPU, .device_id = 0},
                       .ndim = 1,
                       .dtype = {.code = kDLInt, .bits = 32, .lanes = 1},
                       .shape = &size,
                       .strides = nullptr,
                       .byte_offset = 0};
    matcher_->FillNextTokenBitmask(&tensor);
    for (const int32_t id : grammar_->hidden()) set(static_cast<size_t>(id), false);
    const size_t end_id = grammar_->end_id();
    const bool may_end = is_set(mask_, end_id);
    for (size_t id = end_id; id < mask_.size() * 32; ++id) set(id, false);
    must_end_ = may_end && std::all_of(mask_.begin(), mask_.end(), [](uint32_t word) { return word == 0; });
    for (const int32_t id : stop_ids_) {
      if (may_end) set(static_cast<size_t>(id), true);
    }
  }

  void set(size_t id, bool value) {
    const uint32_t bit = uint32_t{1} << (id % 32);
    mask_[id / 32] = value ? mask_[id / 32] | bit : mask_[id / 32] & ~bit;
  }

  std::shared_ptr<const Grammar> grammar_;
  std::vector<int32_t> stop_ids_;
  std::optional<xgrammar::GrammarMatcher> matcher_;
  Bitmask mask_;
  bool must_end_ = false;
  bool lost_ = false;
  int64_t steps_left_ = kAnswerSteps;
};

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar, std::span<const int32_t> stop_ids)
    : impl_(std::make_unique<Impl>(std::move(grammar), stop_ids)) {}
GrammarMatcher::GrammarMatcher(GrammarMatcher&&) noexcept = default;
GrammarMatcher& GrammarMatcher::operator=(GrammarMatcher&&) noexcept = default;
GrammarMatcher::~GrammarMatcher() = default;

Constraint::Kind GrammarMatcher::kind() const {
  return impl_->kind();
}

bool GrammarMatcher::is_lost() const {
  return impl_->is_lost();
}

std::span<const uint32_t> GrammarMatcher::allowed() const {
  return impl_->mask();
}

bool GrammarMatcher::must_end() const {
  return impl_->must_end();
}

bool GrammarMatcher::accept(int32_t id) {
  return impl_->accept(id);
}

}  // namespace indexshare
