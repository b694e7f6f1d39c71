// How a function of the C interface ends: errors become a code and a sentence, exceptions stay inside.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "base/error.h"
#include "indexshare/indexshare.h"

namespace indexshare::c {

/// Keeps the sentence for indexshare_last_error() of this thread.
indexshare_status fail(indexshare_status status, std::string message) noexcept;
indexshare_status fail(const Error& error);

/// Runs the body of a function, which returns Result<indexshare_status>.
template <typename Body>
indexshare_status guarded(Body body) noexcept {
  try {
    const Result<indexshare_status> status = body();
    return status.ok() ? *status : fail(status.error());
  } catch (const std::bad_alloc&) {
    return fail(INDEXSHARE_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& exception) {
    return fail(INDEXSHARE_UNEXPECTED, exception.what());
  } catch (...) {
    return fail(INDEXSHARE_UNEXPECTED, "an exception of unknown type");
  }
}

/// An error where the argument `name` is null.
inline Result<void> check_given(const void* argument, const char* name) {
  if (argument == nullptr) return make_error("{} is NULL", name);
  return {};
}

/// True in the engine's thread while it calls back.
extern thread_local bool in_callback;

/// An error in a callback, for functions that wait for the engine: its thread would wait for itself.
Result<void> check_may_wait();

}  // namespace indexshare::c
