// The syntax tree of a template. Names are numbered (Symbol), so that scopes compare integers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/operators.h"
#include "text/jinja/value.h"

namespace indexshare::jinja {

using Symbol = int32_t;

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Constant {
  Value value;
};
struct Name {
  Symbol symbol;
};
/// [a, b] or (a, b).
struct SequenceDisplay {
  bool list;
  std::vector<ExpressionPtr> items;
};
struct DictDisplay {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
struct Attribute {
  ExpressionPtr object;
  std::string name;
};
struct Item {
  ExpressionPtr object, key;
};
/// object[start:stop:step]; a part left out is null.
struct Slice {
  ExpressionPtr object, start, stop, step;
};
struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star, double_star;  // *args and **kwargs, null if absent
};
struct Call {
  ExpressionPtr callee;
  CallArguments arguments;
};
/// `input | name(...)`; the input is null where a block is filtered.
struct FilterCall {
  ExpressionPtr input;
  std::string name;
  CallArguments arguments;
};
struct TestCall {
  ExpressionPtr input;
  std::string name;
  CallArguments arguments;
};
struct Unary {
  UnaryOperator op;
  ExpressionPtr operand;
};
struct Not {
  ExpressionPtr operand;
};
struct Binary {
  BinaryOperator op;
  ExpressionPtr left, right;
};
/// and, or.
struct Logical {
  bool is_and;
  ExpressionPtr left, right;
};
/// a ~ b ~ c.
struct Concatenation {
  std::vector<ExpressionPtr> parts;
};
/// a < b <= c: true when each neighbouring pair is.
struct Comparison {
  ExpressionPtr first;
  std::vector<std::pair<Relation, ExpressionPtr>> rest;
};
/// then if test else otherwise; without else it is undefined.
struct Conditional {
  ExpressionPtr test, then, otherwise;
};

struct Expression {
  int line;
  int height;  // levels of operands below; bounded, so that walking the tree is safe
  std::variant<Constant, Name, SequenceDisplay, DictDisplay, Attribute, Item, Slice, Call, FilterCall,
               TestCall, Unary, Not, Binary, Logical, Concatenation, Comparison, Conditional>
      node;
};

/// What can be assigned to: a name, a namespace's attribute, or a tuple of those.
struct Target {
  int line = 0;
  Symbol symbol = -1;
  std::string attribute;  // of the namespace that `symbol` names; empty for a plain name
  bool is_tuple = false;
  std::vector<Target> items;
};

struct Statement;
/// Statements in a row. `unset` names those that begin undefined in the block's scope even though an outer
/// variable has that name (see analysis.h).
struct Block {
  std::vector<Statement> statements;
  std::vector<Symbol> unset;
};

struct Text {
  std::string text;
};
struct Output {
  std::vector<ExpressionPtr> values;
};
struct If {
  struct Branch {
    ExpressionPtr test;  // null for else
    Block body;
  };
  std::vector<Branch> branches;
};
struct For {
  Target target;
  ExpressionPtr iterable, test;  // the test is null if absent
  bool recursive = false;
  Block body, otherwise;
};
struct Set {
  Target target;
  ExpressionPtr value;
};
struct SetBlock {
  Target target;
  ExpressionPtr filter;  // a chain of FilterCalls whose innermost input is null; may be null itself
  Block body;
};
/// Parameters of a macro or of the block of a call.
struct MacroSignature {
  std::string name;
  std::vector<Symbol> parameters;
  std::vector<ExpressionPtr> defaults;  // of the last parameters
  // Whether the body uses these special names; a macro that does not refuses surplus arguments.
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;
};
struct MacroDefinition {
  Symbol symbol;
  MacroSignature signature;
  Block body;
};
struct CallBlock {
  MacroSignature signature;
  ExpressionPtr call;
  Block body;
};
struct FilterBlock {
  ExpressionPtr filter;
  Block body;
};
struct With {
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  Block body;
};
/// {% generation %}: marks what the assistant said, for training; prints its body.
struct Generation {
  Block body;
};
struct LoopControl {
  bool is_break;
};

struct Statement {
  int line;
  std::variant<Text, Output, If, For, Set, SetBlock, MacroDefinition, CallBlock, FilterBlock, With,
               Generation, LoopControl>
      node;
};

/// A parsed template.
struct Syntax {
  Block body;
  std::vector<std::string> names;  // by Symbol
  // The special names, which every template numbers first.
  static constexpr Symbol kLoop = 0, kCaller = 1, kKwargs = 2, kVarargs = 3;
};

}  // namespace indexshare::jinja
