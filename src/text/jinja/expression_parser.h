// The expressions of templates: one function per level of precedence.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/ast.h"
#include "text/jinja/token_reader.h"

namespace indexshare::jinja {

class ExpressionParser : protected TokenReader {
 protected:
  explicit ExpressionParser(std::string_view source) : TokenReader(source) {}

  /// An expression, or several with commas between them: a tuple. Without conditions, `if` ends it.
  ExpressionPtr parse_tuple(bool with_condition = true, bool in_parentheses = false);
  ExpressionPtr parse_expression();
  /// One filter, behind its `|`; a null input stands for the text of a block.
  ExpressionPtr parse_filter(ExpressionPtr input);
  /// Any number of filters, each with its `|`; the input itself when there are none.
  ExpressionPtr parse_filters(ExpressionPtr input);
  bool ends_tuple() const { return is(Type::variable_end) || is(Type::block_end) || is_symbol(")"); }

 private:
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_comparison();
  std::optional<Relation> accept_relation();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concatenation();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();  // groups from the left, unlike Python's
  ExpressionPtr parse_unary(bool with_filters = true);

  ExpressionPtr parse_primary();
  ExpressionPtr parse_name();
  ExpressionPtr parse_list(int line);
  ExpressionPtr parse_dict(int line);

  ExpressionPtr parse_postfix(ExpressionPtr node);
  ExpressionPtr parse_attribute(ExpressionPtr object);
  ExpressionPtr parse_subscript(ExpressionPtr object);
  ExpressionPtr parse_slice(int line, ExpressionPtr object, ExpressionPtr start);  // at the colon
  ExpressionPtr parse_call(ExpressionPtr callee);
  CallArguments parse_arguments();
  void parse_named_argument(CallArguments& arguments);

  ExpressionPtr parse_filters_and_tests(ExpressionPtr node);
  ExpressionPtr parse_test(ExpressionPtr input);
  bool begins_test_argument() const;
  std::string parse_dotted_name();
};

}  // namespace indexshare::jinja
