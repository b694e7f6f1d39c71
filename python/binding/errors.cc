#include "errors.h"

namespace indexshare::python {
namespace {

PyObject* exception_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid: return PyExc_ValueError;
    case ErrorCode::not_found: return PyExc_FileNotFoundError;
    case ErrorCode::unsupported: return PyExc_ValueError;
    case ErrorCode::out_of_memory: return PyExc_MemoryError;
    case ErrorCode::busy: return PyExc_RuntimeError;
    case ErrorCode::io: return PyExc_OSError;
  }
  return PyExc_RuntimeError;
}

}  // namespace

void raise(const Error& error) {
  PyErr_SetString(exception_of(error.code), error.message.c_str());
  throw nanobind::python_error();
}

}  // namespace indexshare::python
