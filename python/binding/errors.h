// Errors as values become Python's exceptions here, and nowhere else.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "indexshare/result.h"

namespace indexshare::python {

/// Raises the exception that fits: ValueError, FileNotFoundError, MemoryError, OSError, or RuntimeError where
/// later it may work. Needs the GIL.
[[noreturn]] void raise(const Error& error);

template <typename T>
T value_of(Result<T> result) {
  if (!result.ok()) raise(result.error());
  return std::move(result).value();
}

inline void check(const Result<void>& result) {
  if (!result.ok()) raise(result.error());
}

/// What `task` returns, while other Python threads run.
template <typename Task>
auto without_gil(Task task) {
  const nanobind::gil_scoped_release release;
  return task();
}

}  // namespace indexshare::python
