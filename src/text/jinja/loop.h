// The objects that statements make: scopes, the special variable `loop`, and macros.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/interpreter.h"

namespace indexshare::jinja {

/// Variables of one run of a block; what it does not have is looked up further out.
class Scope : public std::enable_shared_from_this<Scope> {
 public:
  explicit Scope(std::shared_ptr<Scope> parent);

  const Value* find(Symbol symbol) const;
  void set(Symbol symbol, Value value);
  void clear() { variables_.clear(); }

 private:
  std::shared_ptr<Scope> parent_;
  int depth_;
  std::vector<std::pair<Symbol, Value>> variables_;
};

/// The items of a running for loop, with its `if` applied no earlier than jinja2 does, and what `loop` tells.
class Loop : public Object {
 public:
  Loop(Interpreter& interpreter, const For& node, Values items, std::shared_ptr<Scope> outer, int depth0)
      : Object(items),
        interpreter_(interpreter),
        node_(node),
        items_(std::move(items)),
        outer_(std::move(outer)),
        depth0_(depth0) {}

  /// The next item; nullopt at the end.
  std::optional<Value> advance();
  /// The loop is over: lets go of what only its body could use.
  void finish();

  std::string_view type_name() const override { return "LoopContext"; }
  void write_repr(Writer& out, int depth) override;
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  std::optional<int64_t> length() override;
  bool callable() const override { return true; }
  /// loop(items) in a recursive loop: the body's text for them.
  Value call(Interpreter& interpreter, Arguments arguments) override;

 private:
  bool prefetch();  // one more item into pending_
  Value cycle(const Arguments& arguments) const;
  Value changed(Arguments arguments);

  Interpreter& interpreter_;
  const For& node_;
  Values items_;
  size_t next_ = 0;  // in items_
  std::shared_ptr<Scope> outer_;
  int depth0_;
  int64_t index0_ = -1;
  std::deque<Value> pending_;  // passed the `if` already
  Value current_, previous_;
  std::optional<Value> last_changed_;
};

class Macro : public Object {
 public:
  Macro(const MacroSignature& macro_signature, const Block& macro_body,
        std::shared_ptr<Scope> definition_scope)
      : signature(macro_signature), body(macro_body), scope(std::move(definition_scope)) {}

  std::string_view type_name() const override { return "Macro"; }
  void write_repr(Writer& out, int depth) override;
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments arguments) override;

  const MacroSignature& signature;
  const Block& body;
  const std::shared_ptr<Scope> scope;  // what its body sees
};

}  // namespace indexshare::jinja
