#include "text/jinja/interpreter.h"

#include "base/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/json_values.h"
#include "text/jinja/loop.h"
#include "text/jinja/objects.h"
#include "text/jinja/operators.h"
#include "text/jinja/tests.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {

/// Counts nested evaluations, which bounds the stack.
class Interpreter::Nesting {
 public:
  explicit Nesting(Interpreter& interpreter) : interpreter_(interpreter) {
    if (interpreter_.depth_ >= interpreter_.budget_.max_depth()) {
      fail(fmt::format("calls and expressions are nested deeper than the allowed {} levels",
                       interpreter_.budget_.max_depth()));
    }
    ++interpreter_.depth_;
    interpreter_.budget_.step();
  }
  ~Nesting() { --interpreter_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Interpreter& interpreter_;
};

Interpreter::Interpreter(const Syntax& syntax, const Json& variables, Budget& budget)
    : syntax_(syntax), variables_(variables), budget_(budget), root_variables_(syntax.names.size()) {}

Interpreter::~Interpreter() {
  for (const auto& object : kept_objects_) {
    if (auto* names = dynamic_cast<Namespace*>(object.get())) names->clear();
  }
  for (const auto& scope : kept_scopes_) scope->clear();
  // Inner scopes are younger than the outer ones that they hold.
  while (!kept_scopes_.empty()) kept_scopes_.pop_back();
}

std::string Interpreter::render() {
  const auto root = std::make_shared<Scope>(nullptr);
  kept_scopes_.push_back(root);
  for (const Symbol symbol : syntax_.body.unset) root->set(symbol, undefined_name(symbol));
  std::string out;
  execute(syntax_.body, *root, out);
  return out;
}

Value Interpreter::string(std::string text, bool safe) {
  budget_.bytes(static_cast<int64_t>(text.size() + sizeof(String)));
  return Value::string(std::move(text), safe);
}

Value Interpreter::list(Values items) {
  budget_.bytes(static_cast<int64_t>(items.size() * sizeof(Value)));
  return Value::list(std::move(items));
}

Value Interpreter::tuple(Values items) {
  budget_.bytes(static_cast<int64_t>(items.size() * sizeof(Value)));
  return Value::tuple(std::move(items));
}

// --- calls ---

Value Interpreter::call(const Value& callee, Arguments arguments) {
  const Nesting nesting(*this);
  if (callee.is(Kind::undefined)) fail(callee.as_undefined().message);
  if (!callee.is(Kind::object)) fail(fmt::format("'{}' object is not callable", type_name(callee)));
  return callee.as_object()->call(*this, std::move(arguments));
}

Value Interpreter::filter(std::string_view name, Value input, Arguments arguments) {
  const Nesting nesting(*this);
  const Filter found = find_filter(name);
  if (found == nullptr) fail(fmt::format("there is no filter named {}", quote_text(name)));
  return found(*this, input, std::move(arguments));
}

bool Interpreter::test(std::string_view name, const Value& input, Arguments arguments) {
  const Nesting nesting(*this);
  const Test found = find_test(name);
  if (found == nullptr) fail(fmt::format("there is no test named {}", quote_text(name)));
  return found(*this, input, std::move(arguments));
}

Arguments Interpreter::arguments(const CallArguments& given, Scope& scope) {
  Arguments arguments;
  for (const auto& argument : given.positional) arguments.positional.push_back(evaluate(*argument, scope));
  for (const auto& [name, argument] : given.named)
    arguments.named.emplace_back(name, evaluate(*argument, scope));
  if (given.star) {
    Values more = iterate(*this, evaluate(*given.star, scope));
    arguments.positional.insert(arguments.positional.end(), more.begin(), more.end());
  }
  if (given.double_star) {
    const Value more = evaluate(*given.double_star, scope);
    if (!more.is(Kind::dict))
      fail(fmt::format("argument after ** must be a mapping, not {}", type_name(more)));
    for (const auto& [key, value] : more.as_dict().entries()) {
      if (!key.is(Kind::string)) fail("keywords must be strings");
      for (const auto& named : given.named) {
        if (named.first == key.text())
          fail(fmt::format("got two values for the argument {}", quote_text(key.text())));
      }
      arguments.named.emplace_back(key.text(), value);
    }
  }
  return arguments;
}

Value Interpreter::make_macro(const MacroSignature& signature, const Block& body, Scope& scope) {
  // The scope will hold the macro that holds the scope.
  if (kept_scopes_.back().get() != &scope) kept_scopes_.push_back(scope.shared_from_this());
  return Value::object(std::make_shared<Macro>(signature, body, scope.shared_from_this()));
}

Value Interpreter::call_macro(const Macro& macro, Arguments given) {
  const MacroSignature& signature = macro.signature;
  const size_t count = signature.parameters.size();
  const auto take_named = [&](std::string_view name) -> std::optional<Value> {
    for (auto it = given.named.begin(); it != given.named.end(); ++it) {
      if (it->first != name) continue;
      Value value = std::move(it->second);
      given.named.erase(it);
      return value;
    }
    return std::nullopt;
  };

  std::vector<std::optional<Value>> values(count);
  bool has_caller_parameter = false;
  for (size_t i = 0; i < count; ++i) {
    values[i] = i < given.positional.size() ? given.positional[i] : take_named(name(signature.parameters[i]));
    has_caller_parameter = has_caller_parameter || signature.parameters[i] == Syntax::kCaller;
  }
  const auto inner = std::make_shared<Scope>(macro.scope);
  for (const Symbol symbol : macro.body.unset) inner->set(symbol, undefined_name(symbol));
  if (signature.uses_caller && !has_caller_parameter) {
    std::optional<Value> caller = take_named("caller");
    if (!caller || caller->is(Kind::none)) caller = Value::undefined("No caller defined");
    inner->set(Syntax::kCaller, *caller);
  }
  if (signature.uses_kwargs) {
    Dict rest;
    for (auto& [name, value] : given.named) rest.set(std::move(name), std::move(value));
    inner->set(Syntax::kKwargs, Value::dict(std::move(rest)));
  } else if (!given.named.empty()) {
    fail(fmt::format("macro '{}' takes no keyword argument {}", signature.name,
                     quote_text(given.named[0].first)));
  }
  if (signature.uses_varargs) {
    Values rest;
    for (size_t i = count; i < given.positional.size(); ++i) rest.push_back(given.positional[i]);
    inner->set(Syntax::kVarargs, Value::tuple(std::move(rest)));
  } else if (given.positional.size() > count) {
    fail(fmt::format("macro '{}' takes not more than {} argument(s)", signature.name, count));
  }

  // All parameters are undefined before the defaults, which may name them, are evaluated in order.
  for (size_t i = 0; i < count; ++i) {
    const Symbol parameter = signature.parameters[i];
    inner->set(parameter,
               values[i] ? *values[i]
                         : Value::undefined(fmt::format("parameter '{}' was not provided", name(parameter))));
  }
  const size_t first_default = count - signature.defaults.size();
  for (size_t i = first_default; i < count; ++i) {
    if (!values[i])
      inner->set(signature.parameters[i], evaluate(*signature.defaults[i - first_default], *inner));
  }
  std::string out;
  execute(macro.body, *inner, out);
  return Value::string(std::move(out));
}

// --- variables ---

Value Interpreter::undefined_name(Symbol symbol) const {
  return Value::undefined(fmt::format("'{}' is undefined", name(symbol)));
}

Value Interpreter::root_variable(Symbol symbol) {
  std::optional<Value>& value = root_variables_[static_cast<size_t>(symbol)];
  if (!value) {
    const auto given = variables_.find(name(symbol));
    value = given != variables_.end() ? to_value(budget_, *given) : find_global(name(symbol));
    if (!value) value = undefined_name(symbol);
  }
  return *value;
}

Value Interpreter::lookup(Symbol symbol, const Scope& scope) {
  const Value* value = scope.find(symbol);
  return value != nullptr ? *value : root_variable(symbol);
}

void Interpreter::assign(const Target& target, const Value& value, Scope& scope) {
  if (target.is_tuple) {
    const Values items = iterate(*this, value);
    if (items.size() != target.items.size()) {
      fail(fmt::format("cannot unpack {} values into {} names", items.size(), target.items.size()));
    }
    for (size_t i = 0; i < items.size(); ++i) assign(target.items[i], items[i], scope);
  } else if (target.attribute.empty()) {
    scope.set(target.symbol, value);
  } else {
    auto* names = lookup(target.symbol, scope).object_as<Namespace>();
    if (names == nullptr) fail("cannot assign attribute on non-namespace object");
    names->set(target.attribute, value);
  }
}

std::shared_ptr<Scope> Interpreter::enter(const Block& block, Scope& outer) {
  auto scope = std::make_shared<Scope>(outer.shared_from_this());
  for (const Symbol symbol : block.unset) scope->set(symbol, undefined_name(symbol));
  return scope;
}

// --- statements ---

void Interpreter::write(std::string& out, std::string_view text) {
  budget_.output(static_cast<int64_t>(text.size()));
  out += text;
}

void Interpreter::write(std::string& out, const Value& value) {
  value.is(Kind::string) ? write(out, std::string_view(value.text())) : write(out, str(budget_, value));
}

// jinja2 converts what {{ }} prints to text, but not what these blocks make.
void Interpreter::write_text(std::string& out, const Value& value) {
  if (!value.is(Kind::string)) fail(fmt::format("a block must make a string, not {}", type_name(value)));
  write(out, value);
}

Interpreter::Flow Interpreter::execute(const Block& block, Scope& scope, std::string& out) {
  for (const Statement& statement : block.statements) {
    const Flow flow = execute(statement, scope, out);
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::execute(const Statement& statement, Scope& scope, std::string& out) {
  try {
    const Nesting nesting(*this);
    return std::visit([&](const auto& node) { return run(node, scope, out); }, statement.node);
  } catch (Failure& failure) {
    if (failure.line == 0) failure.line = statement.line;
    throw;
  }
}

Interpreter::Flow Interpreter::run(const Text& node, Scope&, std::string& out) {
  write(out, std::string_view(node.text));
  return Flow::normal;
}

Interpreter::Flow Interpreter::run(const Output& node, Scope& scope, std::string& out) {
  for (const auto& value : node.values) write(out, evaluate(*value, scope));
  return Flow::normal;
}

Interpreter::Flow Interpreter::run(const If& node, Scope& scope, std::string& out) {
  for (const If::Branch& branch : node.branches) {
    if (!branch.test || truthy(evaluate(*branch.test, scope))) return execute(branch.body, scope, out);
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::run(const For& node, Scope& scope, std::string& out) {
  return run_loop(node, evaluate(*node.iterable, scope), scope, 0, out);
}

Interpreter::Flow Interpreter::run_loop(const For& node, const Value& iterable, Scope& scope, int depth,
                                        std::string& out) {
  const auto loop =
      std::make_shared<Loop>(*this, node, iterate(*this, iterable), scope.shared_from_this(), depth);
  const Value loop_value = Value::object(loop);
  bool completed = false;  // some pass reached its end: jinja2 runs `else` otherwise, even after a break
  while (const auto item = loop->advance()) {
    budget_.step();
    const auto inner = enter(node.body, scope);
    inner->set(Syntax::kLoop, loop_value);
    assign(node.target, *item, *inner);
    const Flow flow = execute(node.body, *inner, out);
    if (flow == Flow::break_loop) break;
    completed = completed || flow == Flow::normal;
  }
  loop->finish();
  if (completed || node.otherwise.statements.empty()) return Flow::normal;
  return execute(node.otherwise, *enter(node.otherwise, scope), out);
}

Value Interpreter::recurse(const For& node, const Value& iterable, Scope& scope, int depth) {
  std::string out;
  run_loop(node, iterable, scope, depth, out);
  return Value::string(std::move(out));
}

bool Interpreter::passes(const For& node, const Value& item, Scope& scope) {
  budget_.step();
  const auto inner = std::make_shared<Scope>(scope.shared_from_this());
  assign(node.target, item, *inner);
  return truthy(evaluate(*node.test, *inner));
}

Interpreter::Flow Interpreter::run(const Set& node, Scope& scope, std::string&) {
  assign(node.target, evaluate(*node.value, scope), scope);
  return Flow::normal;
}

std::string Interpreter::capture(const Block& block, Scope& inner, Flow& flow) {
  std::string out;
  flow = execute(block, inner, out);
  return out;
}

Interpreter::Flow Interpreter::run(const SetBlock& node, Scope& scope, std::string&) {
  Flow flow = Flow::normal;
  const auto inner = enter(node.body, scope);
  Value value = Value::string(capture(node.body, *inner, flow));
  if (flow != Flow::normal) return flow;  // a break leaves before the assignment
  if (node.filter) value = apply_filters(*node.filter, std::move(value), *inner);
  assign(node.target, value, scope);
  return Flow::normal;
}

Interpreter::Flow Interpreter::run(const MacroDefinition& node, Scope& scope, std::string&) {
  scope.set(node.symbol, make_macro(node.signature, node.body, scope));
  return Flow::normal;
}

Interpreter::Flow Interpreter::run(const CallBlock& node, Scope& scope, std::string& out) {
  const auto& call = std::get<Call>(node.call->node);
  const Value callee = evaluate(*call.callee, scope);
  Arguments given = arguments(call.arguments, scope);
  given.named.emplace_back("caller", make_macro(node.signature, node.body, scope));
  write_text(out, this->call(callee, std::move(given)));
  return Flow::normal;
}

Interpreter::Flow Interpreter::run(const FilterBlock& node, Scope& scope, std::string& out) {
  Flow flow = Flow::normal;
  const auto inner = enter(node.body, scope);
  Value body = Value::string(capture(node.body, *inner, flow));
  if (flow != Flow::normal) return flow;
  write_text(out, apply_filters(*node.filter, std::move(body), *inner));
  return Flow::normal;
}

Interpreter::Flow Interpreter::run(const With& node, Scope& scope, std::string& out) {
  const auto inner = enter(node.body, scope);
  for (const auto& [target, value] : node.assignments) assign(target, evaluate(*value, scope), *inner);
  return execute(node.body, *inner, out);
}

Interpreter::Flow Interpreter::run(const Generation& node, Scope& scope, std::string& out) {
  return execute(node.body, *enter(node.body, scope), out);
}

Interpreter::Flow Interpreter::run(const LoopControl& node, Scope&, std::string&) {
  return node.is_break ? Flow::break_loop : Flow::continue_loop;
}

// --- expressions ---

Value Interpreter::evaluate(const Expression& expression, Scope& scope) {
  try {
    const Nesting nesting(*this);
    return std::visit([&](const auto& node) { return value_of(node, scope); }, expression.node);
  } catch (Failure& failure) {
    if (failure.line == 0) failure.line = expression.line;
    throw;
  }
}

Value Interpreter::value_of(const Constant& node, Scope&) {
  return node.value;
}
Value Interpreter::value_of(const Name& node, Scope& scope) {
  return lookup(node.symbol, scope);
}

Value Interpreter::value_of(const SequenceDisplay& node, Scope& scope) {
  Values items;
  items.reserve(node.items.size());
  for (const auto& item : node.items) items.push_back(evaluate(*item, scope));
  return node.list ? list(std::move(items)) : tuple(std::move(items));
}

Value Interpreter::value_of(const DictDisplay& node, Scope& scope) {
  Dict dict;
  for (const auto& [key, value] : node.entries) {
    Value evaluated = evaluate(*key, scope);
    dict.set(budget_, std::move(evaluated), evaluate(*value, scope));
  }
  budget_.bytes(dict.size() * static_cast<int64_t>(sizeof(Dict::Entry)));
  return Value::dict(std::move(dict));
}

Value Interpreter::value_of(const Attribute& node, Scope& scope) {
  return get_attribute(*this, evaluate(*node.object, scope), node.name);
}

Value Interpreter::value_of(const Item& node, Scope& scope) {
  const Value object = evaluate(*node.object, scope);
  return get_item(*this, object, evaluate(*node.key, scope));
}

Value Interpreter::value_of(const Slice& node, Scope& scope) {
  const auto part = [&](const ExpressionPtr& expression) {
    return expression ? evaluate(*expression, scope) : Value();
  };
  const Value object = evaluate(*node.object, scope);
  const Value start = part(node.start), stop = part(node.stop), step = part(node.step);
  return slice(*this, object, start, stop, step);
}

Value Interpreter::value_of(const Call& node, Scope& scope) {
  const Value callee = evaluate(*node.callee, scope);
  return call(callee, arguments(node.arguments, scope));
}

Value Interpreter::value_of(const FilterCall& node, Scope& scope) {
  return call_filter(node, evaluate(*node.input, scope), scope);
}

Value Interpreter::call_filter(const FilterCall& node, Value input, Scope& scope) {
  return filter(node.name, std::move(input), arguments(node.arguments, scope));
}

Value Interpreter::apply_filters(const Expression& expression, Value input, Scope& scope) {
  const Nesting nesting(*this);
  const auto& node = std::get<FilterCall>(expression.node);
  if (node.input) input = apply_filters(*node.input, std::move(input), scope);
  return call_filter(node, std::move(input), scope);
}

Value Interpreter::value_of(const TestCall& node, Scope& scope) {
  const Value input = evaluate(*node.input, scope);
  return Value::boolean(test(node.name, input, arguments(node.arguments, scope)));
}

Value Interpreter::value_of(const Unary& node, Scope& scope) {
  return apply(node.op, evaluate(*node.operand, scope));
}

Value Interpreter::value_of(const Not& node, Scope& scope) {
  return Value::boolean(!truthy(evaluate(*node.operand, scope)));
}

Value Interpreter::value_of(const Binary& node, Scope& scope) {
  const Value left = evaluate(*node.left, scope);
  return apply(*this, node.op, left, evaluate(*node.right, scope));
}

Value Interpreter::value_of(const Logical& node, Scope& scope) {
  Value left = evaluate(*node.left, scope);
  return truthy(left) == node.is_and ? evaluate(*node.right, scope) : left;
}

Value Interpreter::value_of(const Concatenation& node, Scope& scope) {
  Writer out(budget_);
  for (const auto& part : node.parts) write_str(out, evaluate(*part, scope));
  return Value::string(out.take());
}

Value Interpreter::value_of(const Comparison& node, Scope& scope) {
  Value left = evaluate(*node.first, scope);
  for (const auto& [relation, operand] : node.rest) {
    Value right = evaluate(*operand, scope);
    if (!holds(*this, relation, left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::value_of(const Conditional& node, Scope& scope) {
  if (truthy(evaluate(*node.test, scope))) return evaluate(*node.then, scope);
  if (node.otherwise) return evaluate(*node.otherwise, scope);
  return Value::undefined("the inline if-expression evaluated to false and no else section was defined");
}

}  // namespace indexshare::jinja
