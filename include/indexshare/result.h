// Errors as values: a Result<T> holds either a T or an Error with one sentence for the user.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace indexshare {

/// What kind of failure it was, for programs.
enum class ErrorCode : uint8_t {
  invalid,        // a parameter, or what a file holds, is not what was expected
  not_found,      // there is no such file
  unsupported,    // this model cannot do what was asked
  out_of_memory,  // it does not fit into the memory that may be used
  busy,           // too many requests are waiting: later it may work
  io,             // the operating system refused to read or write
};

/// A failure, told in one sentence that names the file, field or parameter and what was expected.
struct Error {
  std::string message;
  ErrorCode code = ErrorCode::invalid;
};

/// Either a value or an Error. Test with `ok()` or in a boolean context before taking the value.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return *checked(); }
  const T& value() const& { return *const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(*checked()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return checked(); }
  const T* operator->() const { return const_cast<Result*>(this)->checked(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  T* checked() {
    T* value = std::get_if<0>(&state_);
    if (value == nullptr) std::abort();  // taking the value of a failed Result is a programmer's error
    return value;
  }

  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace indexshare
