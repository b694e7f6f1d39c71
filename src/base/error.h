// Building and passing on errors.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "indexshare/result.h"

namespace indexshare {

/// An Error of a kind from a format string and its arguments.
template <typename... Args>
Error make_error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{fmt::format(format, std::forward<Args>(args)...), code};
}

/// The same, of the kind `invalid`.
template <typename... Args>
Error make_error(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::invalid, format, std::forward<Args>(args)...);
}

}  // namespace indexshare

#define INDEXSHARE_CONCAT_(a, b) a##b
#define INDEXSHARE_CONCAT(a, b) INDEXSHARE_CONCAT_(a, b)

/// Returns the error of a Result expression from the enclosing function, if it has one.
#define RETURN_IF_ERROR(expr)                                         \
  do {                                                                \
    if (auto result_ = (expr); !result_.ok()) return result_.error(); \
  } while (false)

/// `ASSIGN_OR_RETURN(auto x, f())`: x = the value of f(), or return its error.
#define ASSIGN_OR_RETURN(lhs, expr) ASSIGN_OR_RETURN_IMPL(INDEXSHARE_CONCAT(result_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                          \
  if (!tmp.ok()) return tmp.error();          \
  lhs = std::move(tmp).value()
