#include "c/status.h"

#include <utility>

namespace indexshare::c {
namespace {

thread_local std::string last_error;

indexshare_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid: return INDEXSHARE_INVALID;
    case ErrorCode::not_found: return INDEXSHARE_NOT_FOUND;
    case ErrorCode::unsupported: return INDEXSHARE_UNSUPPORTED;
    case ErrorCode::out_of_memory: return INDEXSHARE_OUT_OF_MEMORY;
    case ErrorCode::busy: return INDEXSHARE_BUSY;
    case ErrorCode::io: return INDEXSHARE_IO;
  }
  return INDEXSHARE_UNEXPECTED;
}

}  // namespace

thread_local bool in_callback = false;

indexshare_status fail(indexshare_status status, std::string message) noexcept {
  last_error = std::move(message);
  return status;
}

indexshare_status fail(const Error& error) {
  return fail(status_of(error.code), error.message);
}

Result<void> check_may_wait() {
  if (in_callback) return make_error("called from a callback of a request: it would wait for itself");
  return {};
}

}  // namespace indexshare::c

const char* indexshare_last_error(void) {
  return indexshare::c::last_error.c_str();
}

const char* indexshare_status_name(indexshare_status status) {
  switch (status) {
    case INDEXSHARE_TIMEOUT: return "timeout";
    case INDEXSHARE_END: return "end";
    case INDEXSHARE_OK: return "ok";
    case INDEXSHARE_INVALID: return "invalid";
    case INDEXSHARE_NOT_FOUND: return "not_found";
    case INDEXSHARE_UNSUPPORTED: return "unsupported";
    case INDEXSHARE_OUT_OF_MEMORY: return "out_of_memory";
    case INDEXSHARE_BUSY: return "busy";
    case INDEXSHARE_IO: return "io";
    case INDEXSHARE_UNEXPECTED: return "unexpected";
  }
  return "unknown";
}

const char* indexshare_version(void) {
  return INDEXSHARE_VERSION;
}
