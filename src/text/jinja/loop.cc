#include "text/jinja/loop.h"

#include "base/error.h"
#include "text/jinja/objects.h"
#include "text/jinja/operators.h"
#include "text/jinja/unicode.h"

namespace indexshare::jinja {

namespace {

constexpr int kMaxScopeDepth = 1000;  // macros that define macros that define macros ...

}  // namespace

Scope::Scope(std::shared_ptr<Scope> parent)
    : parent_(std::move(parent)), depth_(parent_ ? parent_->depth_ + 1 : 0) {
  if (depth_ > kMaxScopeDepth) fail(fmt::format("scopes are nested deeper than {} levels", kMaxScopeDepth));
}

const Value* Scope::find(Symbol symbol) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) {
    for (const auto& [name, value] : scope->variables_) {
      if (name == symbol) return &value;
    }
  }
  return nullptr;
}

void Scope::set(Symbol symbol, Value value) {
  for (auto& [name, old] : variables_) {
    if (name == symbol) {
      old = std::move(value);
      return;
    }
  }
  variables_.emplace_back(symbol, std::move(value));
}

bool Loop::prefetch() {
  while (next_ < items_.size()) {
    Value item = std::move(items_[next_++]);
    if (!node_.test || interpreter_.passes(node_, item, *outer_)) {
      pending_.push_back(std::move(item));
      return true;
    }
  }
  return false;
}

std::optional<Value> Loop::advance() {
  if (pending_.empty() && !prefetch()) return std::nullopt;
  previous_ = std::exchange(current_, std::move(pending_.front()));
  pending_.pop_front();
  ++index0_;
  return current_;
}

void Loop::finish() {
  items_.clear();
  next_ = 0;
  outer_.reset();
}

std::optional<int64_t> Loop::length() {
  while (prefetch()) {
  }
  return index0_ + 1 + static_cast<int64_t>(pending_.size());
}

void Loop::write_repr(Writer& out, int) {
  out << fmt::format("<LoopContext {}/{}>", index0_ + 1, *length());
}

std::optional<Value> Loop::attribute(Interpreter&, std::string_view name) {
  if (name == "index") return Value::integer(index0_ + 1);
  if (name == "index0") return Value::integer(index0_);
  if (name == "first") return Value::boolean(index0_ == 0);
  if (name == "last") return Value::boolean(pending_.empty() && !prefetch());
  if (name == "length") return Value::integer(*length());
  if (name == "revindex") return Value::integer(*length() - index0_);
  if (name == "revindex0") return Value::integer(*length() - index0_ - 1);
  if (name == "depth") return Value::integer(depth0_ + 1);
  if (name == "depth0") return Value::integer(depth0_);
  if (name == "previtem") return index0_ == 0 ? Value::undefined("there is no previous item") : previous_;
  if (name == "nextitem") {
    return pending_.empty() && !prefetch() ? Value::undefined("there is no next item") : pending_.front();
  }
  const Value self = Value::object(shared_from_this());
  if (name == "cycle") {
    return Value::object(std::make_shared<Function>(
        "cycle",
        [](Interpreter&, const Value& loop, Arguments arguments) {
          return loop.object_as<Loop>()->cycle(arguments);
        },
        self));
  }
  if (name == "changed") {
    return Value::object(std::make_shared<Function>(
        "changed",
        [](Interpreter&, const Value& loop, Arguments arguments) {
          return loop.object_as<Loop>()->changed(std::move(arguments));
        },
        self));
  }
  return std::nullopt;
}

Value Loop::cycle(const Arguments& arguments) const {
  if (!arguments.named.empty()) fail("loop.cycle() takes no keyword arguments");
  const Values& items = arguments.positional;
  if (items.empty()) fail("no items for cycling given");
  return items[static_cast<size_t>(index0_) % items.size()];
}

Value Loop::changed(Arguments arguments) {
  if (!arguments.named.empty()) fail("loop.changed() takes no keyword arguments");
  Value now = interpreter_.tuple(std::move(arguments.positional));
  const bool differs = !last_changed_ || !equal(interpreter_.budget(), *last_changed_, now);
  last_changed_ = std::move(now);
  return Value::boolean(differs);
}

Value Loop::call(Interpreter& interpreter, Arguments arguments) {
  if (!node_.recursive) fail("the loop must have the 'recursive' marker to be called recursively");
  if (arguments.positional.size() != 1 || !arguments.named.empty()) fail("loop() takes one argument");
  if (!outer_) fail("the loop is over");
  return interpreter.recurse(node_, arguments.positional[0], *outer_, depth0_ + 1);
}

void Macro::write_repr(Writer& out, int) {
  out << "<Macro " << quote_text(signature.name) << ">";
}

std::optional<Value> Macro::attribute(Interpreter& interpreter, std::string_view name) {
  if (name == "name") return Value::string(signature.name);
  if (name == "caller") return Value::boolean(signature.uses_caller);
  if (name == "catch_kwargs") return Value::boolean(signature.uses_kwargs);
  if (name == "catch_varargs") return Value::boolean(signature.uses_varargs);
  if (name == "arguments") {
    Values names;
    for (const Symbol parameter : signature.parameters)
      names.push_back(Value::string(interpreter.name(parameter)));
    return Value::tuple(std::move(names));
  }
  return std::nullopt;
}

Value Macro::call(Interpreter& interpreter, Arguments arguments) {
  return interpreter.call_macro(*this, std::move(arguments));
}

}  // namespace indexshare::jinja
