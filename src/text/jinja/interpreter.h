// Runs a parsed template over variables.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/jinja/ast.h"
#include "text/jinja/budget.h"
#include "text/jinja/value.h"

namespace indexshare::jinja {

class Macro;
class Scope;

/// One rendering. Also what builtin functions see of it.
class Interpreter {
 public:
  /// `variables` must be an object; those that the template never names are not even converted.
  Interpreter(const Syntax& syntax, const Json& variables, Budget& budget);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  std::string render();

  Budget& budget() { return budget_; }
  Value call(const Value& callee, Arguments arguments);
  Value filter(std::string_view name, Value input, Arguments arguments);
  bool test(std::string_view name, const Value& input, Arguments arguments);

  /// New values, paid for.
  Value string(std::string text, bool safe = false);
  Value list(Values items);
  Value tuple(Values items);
  /// Objects that may hold themselves (namespaces, scopes of macros) are let go of at the end, which also
  /// keeps long chains of them from being destroyed recursively.
  void keep(std::shared_ptr<Object> object) { kept_objects_.push_back(std::move(object)); }

  const std::string& name(Symbol symbol) const { return syntax_.names[static_cast<size_t>(symbol)]; }

  // What running loops and macros need.
  Value call_macro(const Macro& macro, Arguments arguments);
  Value recurse(const For& node, const Value& iterable, Scope& scope, int depth);
  bool passes(const For& node, const Value& item, Scope& scope);  // the `if` of a loop

 private:
  enum class Flow : uint8_t { normal, break_loop, continue_loop };
  class Nesting;

  Flow execute(const Block& block, Scope& scope, std::string& out);
  Flow execute(const Statement& statement, Scope& scope, std::string& out);
  Flow run(const Text& node, Scope& scope, std::string& out);
  Flow run(const Output& node, Scope& scope, std::string& out);
  Flow run(const If& node, Scope& scope, std::string& out);
  Flow run(const For& node, Scope& scope, std::string& out);
  Flow run(const Set& node, Scope& scope, std::string& out);
  Flow run(const SetBlock& node, Scope& scope, std::string& out);
  Flow run(const MacroDefinition& node, Scope& scope, std::string& out);
  Flow run(const CallBlock& node, Scope& scope, std::string& out);
  Flow run(const FilterBlock& node, Scope& scope, std::string& out);
  Flow run(const With& node, Scope& scope, std::string& out);
  Flow run(const Generation& node, Scope& scope, std::string& out);
  Flow run(const LoopControl& node, Scope& scope, std::string& out);

  Value evaluate(const Expression& expression, Scope& scope);
  Value value_of(const Constant& node, Scope& scope);
  Value value_of(const Name& node, Scope& scope);
  Value value_of(const SequenceDisplay& node, Scope& scope);
  Value value_of(const DictDisplay& node, Scope& scope);
  Value value_of(const Attribute& node, Scope& scope);
  Value value_of(const Item& node, Scope& scope);
  Value value_of(const Slice& node, Scope& scope);
  Value value_of(const Call& node, Scope& scope);
  Value value_of(const FilterCall& node, Scope& scope);
  Value value_of(const TestCall& node, Scope& scope);
  Value value_of(const Unary& node, Scope& scope);
  Value value_of(const Not& node, Scope& scope);
  Value value_of(const Binary& node, Scope& scope);
  Value value_of(const Logical& node, Scope& scope);
  Value value_of(const Concatenation& node, Scope& scope);
  Value value_of(const Comparison& node, Scope& scope);
  Value value_of(const Conditional& node, Scope& scope);

  Arguments arguments(const CallArguments& given, Scope& scope);
  Value apply_filters(const Expression& filter, Value input, Scope& scope);
  Value call_filter(const FilterCall& node, Value input, Scope& scope);
  void assign(const Target& target, const Value& value, Scope& scope);
  void write(std::string& out, std::string_view text);
  void write(std::string& out, const Value& value);
  void write_text(std::string& out, const Value& value);
  std::string capture(const Block& block, Scope& inner, Flow& flow);
  Flow run_loop(const For& node, const Value& iterable, Scope& scope, int depth, std::string& out);
  std::shared_ptr<Scope> enter(const Block& block, Scope& outer);
  Value make_macro(const MacroSignature& signature, const Block& body, Scope& scope);
  Value lookup(Symbol symbol, const Scope& scope);
  Value root_variable(Symbol symbol);
  Value undefined_name(Symbol symbol) const;

  const Syntax& syntax_;
  const Json& variables_;
  Budget& budget_;
  int depth_ = 0;
  std::vector<std::optional<Value>> root_variables_;  // by symbol, converted when first named
  std::vector<std::shared_ptr<Object>> kept_objects_;
  std::vector<std::shared_ptr<Scope>> kept_scopes_;
};

}  // namespace indexshare::jinja
