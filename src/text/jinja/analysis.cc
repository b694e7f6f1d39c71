#include "text/jinja/analysis.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "text/jinja/filters.h"
#include "text/jinja/tests.h"

namespace indexshare::jinja {
namespace {

template <typename... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

template <typename Visit>
void visit_arguments(const CallArguments& arguments, Visit visit) {
  for (const auto& argument : arguments.positional) visit(argument);
  for (const auto& argument : arguments.named) visit(argument.second);
  visit(arguments.star);
  visit(arguments.double_star);
}

// Calls visit(const ExpressionPtr&), which may be null, for each operand of an expression.
template <typename Visit>
void visit_operands(const Expression& expression, Visit visit) {
  std::visit(Overloaded{
                 [](const Constant&) {},
                 [](const Name&) {},
                 [&](const SequenceDisplay& node) {
                   for (const auto& item : node.items) visit(item);
                 },
                 [&](const DictDisplay& node) {
                   for (const auto& [key, value] : node.entries) visit(key), visit(value);
                 },
                 [&](const Attribute& node) { visit(node.object); },
                 [&](const Item& node) { visit(node.object), visit(node.key); },
                 [&](const Slice& node) {
                   for (const auto* part : {&node.object, &node.start, &node.stop, &node.step}) visit(*part);
                 },
                 [&](const Call& node) { visit(node.callee), visit_arguments(node.arguments, visit); },
                 [&](const FilterCall& node) { visit(node.input), visit_arguments(node.arguments, visit); },
                 [&](const TestCall& node) { visit(node.input), visit_arguments(node.arguments, visit); },
                 [&](const Unary& node) { visit(node.operand); },
                 [&](const Not& node) { visit(node.operand); },
                 [&](const Binary& node) { visit(node.left), visit(node.right); },
                 [&](const Logical& node) { visit(node.left), visit(node.right); },
                 [&](const Concatenation& node) {
                   for (const auto& part : node.parts) visit(part);
                 },
                 [&](const Comparison& node) {
                   visit(node.first);
                   for (const auto& operand : node.rest) visit(operand.second);
                 },
                 [&](const Conditional& node) { visit(node.test), visit(node.then), visit(node.otherwise); },
             },
             expression.node);
}

template <typename Visit>
void for_each_name(const ExpressionPtr& expression, const Visit& visit) {
  if (!expression) return;
  if (const auto* name = std::get_if<Name>(&expression->node)) visit(name->symbol);
  visit_operands(*expression, [&](const ExpressionPtr& operand) { for_each_name(operand, visit); });
}

// Which special names a macro's body loads before it assigns to them.
class SpecialNames {
 public:
  explicit SpecialNames(std::set<Symbol> wanted) : wanted_(std::move(wanted)) {}
  bool found(Symbol symbol) const { return found_.contains(symbol); }

  void visit(const Block& block) {
    for (const Statement& statement : block.statements) {
      std::visit([&](const auto& node) { visit(node); }, statement.node);
    }
  }

 private:
  void load(const ExpressionPtr& expression) {
    for_each_name(expression, [&](Symbol symbol) {
      if (wanted_.contains(symbol)) found_.insert(symbol);
    });
  }
  void store(const Target& target) {
    if (target.is_tuple) {
      for (const Target& item : target.items) store(item);
    } else if (target.attribute.empty()) {
      wanted_.erase(target.symbol);
    }
  }
  void visit(const MacroSignature& signature) {
    for (const Symbol parameter : signature.parameters) wanted_.erase(parameter);
    for (const auto& expression : signature.defaults) load(expression);
  }

  void visit(const Text&) {}
  void visit(const LoopControl&) {}
  void visit(const Output& node) {
    for (const auto& value : node.values) load(value);
  }
  void visit(const If& node) {
    for (const auto& branch : node.branches) load(branch.test), visit(branch.body);
  }
  void visit(const For& node) {
    store(node.target), load(node.iterable), visit(node.body), visit(node.otherwise), load(node.test);
  }
  void visit(const Set& node) { store(node.target), load(node.value); }
  void visit(const SetBlock& node) { store(node.target), load(node.filter), visit(node.body); }
  void visit(const MacroDefinition& node) { visit(node.signature), visit(node.body); }
  void visit(const CallBlock& node) { load(node.call), visit(node.signature), visit(node.body); }
  void visit(const FilterBlock& node) { visit(node.body), load(node.filter); }
  void visit(const With& node) {
    for (const auto& assignment : node.assignments) store(assignment.first);
    for (const auto& assignment : node.assignments) load(assignment.second);
    visit(node.body);
  }
  void visit(const Generation& node) { visit(node.body); }

  std::set<Symbol> wanted_, found_;
};

// The names of one scope, and where each gets its first value from.
class Names {
 public:
  explicit Names(const Names* parent) : parent_(parent) {}
  /// A branch of `base`: the same scope, seen from inside an if.
  static Names branch_of(const Names& base) {
    Names branch(base.parent_);
    branch.base_ = &base;
    return branch;
  }

  void declare(Symbol symbol) { origins_[symbol] = Origin::parameter, stored_.insert(symbol); }
  void declare(const Target& target) {
    if (!target.is_tuple) return declare(target.symbol);
    for (const Target& item : target.items) declare(item);
  }
  void load(const ExpressionPtr& expression) {
    for_each_name(expression, [&](Symbol symbol) { load(symbol); });
  }
  void load(Symbol symbol) {
    if (!knows(symbol)) origins_[symbol] = Origin::outside;
  }
  void store(Symbol symbol) {
    stored_.insert(symbol);
    if (!has(symbol)) origins_[symbol] = outer_knows(symbol) ? Origin::outside : Origin::none;
  }
  void store(const Target& target) {
    if (target.is_tuple) {
      for (const Target& item : target.items) store(item);
    } else {
      target.attribute.empty() ? store(target.symbol) : load(target.symbol);
    }
  }

  // The statements of a block that belong to this scope itself.
  void visit(const Block& block) {
    for (const Statement& statement : block.statements) {
      std::visit([&](const auto& node) { visit(node); }, statement.node);
    }
  }

  std::vector<Symbol> unset() const {
    std::vector<Symbol> symbols;
    for (const auto& [symbol, origin] : origins_) {
      if (origin == Origin::none) symbols.push_back(symbol);
    }
    return symbols;
  }

 private:
  enum class Origin : uint8_t { parameter, outside, none };

  bool has(Symbol symbol) const {
    return origins_.contains(symbol) || (base_ != nullptr && base_->has(symbol));
  }
  bool stored(Symbol symbol) const {
    return stored_.contains(symbol) || (base_ != nullptr && base_->stored(symbol));
  }
  bool knows(Symbol symbol) const { return has(symbol) || outer_knows(symbol); }
  bool outer_knows(Symbol symbol) const { return parent_ != nullptr && parent_->knows(symbol); }

  void visit(const Text&) {}
  void visit(const LoopControl&) {}
  void visit(const Generation&) {}
  void visit(const Output& node) {
    for (const auto& value : node.values) load(value);
  }
  // What only some branch assigns may still come from outside.
  void visit(const If& node) {
    load(node.branches.front().test);
    // jinja2 sees the chain of elif as one branch and else as another, each from the same start.
    Names body = branch_of(*this), chain = branch_of(*this), otherwise = branch_of(*this);
    body.visit(node.branches.front().body);
    for (size_t i = 1; i < node.branches.size(); ++i) {
      const auto& branch = node.branches[i];
      if (branch.test) {
        chain.visit_branch(branch);
      } else {
        otherwise.visit(branch.body);
      }
    }
    merge({&body, &chain, &otherwise});
  }
  void visit_branch(const If::Branch& branch) {
    load(branch.test);
    Names body = branch_of(*this);
    body.visit(branch.body);
    merge({&body});
  }
  void merge(std::initializer_list<const Names*> branches) {
    std::set<Symbol> newly_stored;
    for (const Names* branch : branches) {
      for (const Symbol symbol : branch->stored_) {
        if (!stored(symbol)) newly_stored.insert(symbol);
      }
    }
    for (const Names* branch : branches) {
      for (const auto& [symbol, origin] : branch->origins_) origins_[symbol] = origin;
      stored_.insert(branch->stored_.begin(), branch->stored_.end());
    }
    for (const Symbol symbol : newly_stored) origins_[symbol] = Origin::outside;
  }
  void visit(const For& node) { load(node.iterable); }
  void visit(const Set& node) { load(node.value), store(node.target); }
  void visit(const SetBlock& node) { store(node.target); }
  void visit(const MacroDefinition& node) { store(node.symbol); }
  void visit(const CallBlock& node) { load(node.call); }
  void visit(const FilterBlock& node) { load(node.filter); }
  void visit(const With& node) {
    for (const auto& assignment : node.assignments) load(assignment.second);
  }

  const Names* parent_;          // the scope around this one
  const Names* base_ = nullptr;  // what came before this branch in the same scope
  std::map<Symbol, Origin> origins_;
  std::set<Symbol> stored_;
};

// Walks the whole tree, opening a Names for each scope.
class Analyzer {
 public:
  explicit Analyzer(Syntax& syntax) : syntax_(syntax) {}

  void run() {
    Names root(nullptr);
    root.visit(syntax_.body);
    enter(syntax_.body, root, {});
  }

 private:
  struct Place {
    bool in_loop = false;
    bool lenient = false;  // inside if: an unknown filter fails only when it is reached
  };

  [[noreturn]] static void fail_at(int line, std::string message) { throw Failure{std::move(message), line}; }

  void enter(Block& block, const Names& names, Place place) {
    block.unset = names.unset();
    check(block, names, place);
  }

  void check(Block& block, const Names& names, Place place) {
    for (Statement& statement : block.statements) {
      std::visit([&](auto& node) { check(node, statement.line, names, place); }, statement.node);
    }
  }

  void check(const ExpressionPtr& expression, bool lenient) const {
    if (!expression) return;
    if (!lenient) {
      const auto* filter = std::get_if<FilterCall>(&expression->node);
      if (filter != nullptr && find_filter(filter->name) == nullptr) {
        fail_at(expression->line, fmt::format("there is no filter named '{}'", filter->name));
      }
      const auto* test = std::get_if<TestCall>(&expression->node);
      if (test != nullptr && find_test(test->name) == nullptr) {
        fail_at(expression->line, fmt::format("there is no test named '{}'", test->name));
      }
    }
    const bool inside = lenient || std::holds_alternative<Conditional>(expression->node);
    visit_operands(*expression, [&](const ExpressionPtr& operand) { check(operand, inside); });
  }

  void check(Text&, int, const Names&, Place) {}
  void check(Output& node, int, const Names&, Place place) {
    for (const auto& value : node.values) check(value, place.lenient);
  }
  void check(If& node, int, const Names& names, Place place) {
    place.lenient = true;
    for (auto& branch : node.branches) {
      check(branch.test, true);
      check(branch.body, names, place);
    }
  }

  void check(For& node, int line, const Names& names, Place place) {
    check(node.iterable, place.lenient);
    if (node.target.symbol == Syntax::kLoop || assigns_loop(node.body) || assigns_loop(node.otherwise)) {
      fail_at(line, "cannot assign to the special variable 'loop' in a for loop");
    }
    check(node.test, false);
    Names body(&names);
    body.declare(Syntax::kLoop);
    body.declare(node.target);
    body.visit(node.body);
    enter(node.body, body, {true, false});
    Names otherwise(&names);
    otherwise.visit(node.otherwise);
    enter(node.otherwise, otherwise, {place.in_loop && !node.recursive, false});
  }

  void check(Set& node, int, const Names&, Place place) { check(node.value, place.lenient); }

  void check(SetBlock& node, int, const Names& names, Place place) {
    check(node.filter, false);
    open(node.body, names, {place.in_loop, false});
  }

  void check(MacroDefinition& node, int line, const Names& names, Place) {
    check_macro(node.signature, node.body, line, names);
  }

  void check(CallBlock& node, int line, const Names& names, Place place) {
    check(node.call, place.lenient);
    check_macro(node.signature, node.body, line, names);
  }

  void check(FilterBlock& node, int, const Names& names, Place place) {
    check(node.filter, false);
    open(node.body, names, {place.in_loop, false});
  }

  void check(With& node, int, const Names& names, Place place) {
    Names inner(&names);
    for (const auto& assignment : node.assignments) {
      check(assignment.second, place.lenient);
      inner.declare(assignment.first);
    }
    inner.visit(node.body);
    enter(node.body, inner, {place.in_loop, false});
  }

  void check(Generation& node, int, const Names& names, Place) { open(node.body, names, {}); }

  void check(LoopControl& node, int line, const Names&, Place place) {
    if (!place.in_loop) {
      fail_at(line, fmt::format("'{}' stands outside of a loop", node.is_break ? "break" : "continue"));
    }
  }

  void open(Block& block, const Names& outer, Place place) {
    Names inner(&outer);
    inner.visit(block);
    enter(block, inner, place);
  }

  void check_macro(MacroSignature& signature, Block& body, int line, const Names& outer) {
    for (const auto& expression : signature.defaults) check(expression, false);
    SpecialNames special({Syntax::kCaller, Syntax::kKwargs, Syntax::kVarargs});
    special.visit(body);
    const auto parameter = [&](Symbol symbol) {
      return std::find(signature.parameters.begin(), signature.parameters.end(), symbol);
    };
    const auto uses = [&](Symbol symbol) {
      return special.found(symbol) && parameter(symbol) == signature.parameters.end();
    };
    signature.uses_caller = special.found(Syntax::kCaller);
    signature.uses_kwargs = uses(Syntax::kKwargs);
    signature.uses_varargs = uses(Syntax::kVarargs);
    const auto caller = parameter(Syntax::kCaller);
    const auto first_default =
        signature.parameters.end() - static_cast<std::ptrdiff_t>(signature.defaults.size());
    if (signature.uses_caller && caller != signature.parameters.end() && caller < first_default) {
      fail_at(line, "the parameter 'caller' of a macro must be left out or have a default");
    }
    Names names(&outer);
    for (const Symbol symbol : signature.parameters) names.declare(symbol);
    for (const auto& expression : signature.defaults) names.load(expression);
    if (signature.uses_caller) names.declare(Syntax::kCaller);
    if (signature.uses_kwargs) names.declare(Syntax::kKwargs);
    if (signature.uses_varargs) names.declare(Syntax::kVarargs);
    names.visit(body);
    enter(body, names, {});
  }

  static bool assigns_loop(const Target& target) {
    return (!target.is_tuple && target.symbol == Syntax::kLoop && target.attribute.empty()) ||
           std::any_of(target.items.begin(), target.items.end(),
                       [](const Target& t) { return assigns_loop(t); });
  }

  static bool assigns_loop(const Block& block) {
    return std::any_of(block.statements.begin(), block.statements.end(), [](const Statement& statement) {
      return std::visit(
          Overloaded{
              [](const Set& node) { return assigns_loop(node.target); },
              [](const SetBlock& node) { return assigns_loop(node.target) || assigns_loop(node.body); },
              [](const For& node) {
                return assigns_loop(node.target) || assigns_loop(node.body) || assigns_loop(node.otherwise);
              },
              [](const If& node) {
                return std::any_of(node.branches.begin(), node.branches.end(),
                                   [](const auto& branch) { return assigns_loop(branch.body); });
              },
              [](const MacroDefinition& node) { return assigns_loop(node.body); },
              [](const CallBlock& node) { return assigns_loop(node.body); },
              [](const FilterBlock& node) { return assigns_loop(node.body); },
              [](const With& node) { return assigns_loop(node.body); },
              [](const Generation& node) { return assigns_loop(node.body); },
              [](const auto&) { return false; },
          },
          statement.node);
    });
  }

  Syntax& syntax_;
};

}  // namespace

void analyze(Syntax& syntax) {
  Analyzer(syntax).run();
}

}  // namespace indexshare::jinja
