// Reading the fields of a JSON object, each checked for its kind and range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "indexshare/result.h"

namespace indexshare {

/// The first problem is kept, to be told by check(), and a field that has one reads as if it were absent,
/// so that a reader is a plain list of fields. Errors: `config.json: "hidden_size" is "big", expected ...`.
/// The optional readers take null as absent. The others do not: there a file that writes null asked for
/// something else than the default.
class JsonFields {
 public:
  /// `path` goes before the names in errors: "rope_parameters."
  JsonFields(const SortedJson& object, std::string_view source, std::string_view path = "");

  int64_t integer(const char* name, int64_t fallback, int64_t min, int64_t max);
  float number(const char* name, float fallback, double min, double max);
  bool boolean(const char* name, bool fallback);

  std::optional<int64_t> optional_integer(const char* name, int64_t min, int64_t max);
  std::optional<float> optional_number(const char* name, double min, double max);
  std::optional<bool> optional_boolean(const char* name);
  std::optional<std::string> optional_string(const char* name);

  /// One token id or a list of them, each at least 0 and below `vocab_size`.
  std::optional<std::vector<int32_t>> optional_token_ids(const char* name, int64_t vocab_size);

  /// A list of `size` strings that are `yes` or `no`.
  std::optional<std::vector<bool>> optional_choices(const char* name, int64_t size, std::string_view yes,
                                                    std::string_view no);

  /// A nested object; null where absent.
  const SortedJson* optional_object(const char* name);

  /// The field as it stands; null where absent.
  const SortedJson* find(const char* name) const;

  /// Refuses a field that stands with another value than the supported one.
  void require(const char* name, const SortedJson& supported);

  void refuse(const char* name, std::string_view expected);  // "name" is VALUE, expected EXPECTED
  void fail(std::string problem);                            // of several fields

  Result<void> check() const;

 private:
  const SortedJson* find_not_null(const char* name) const;

  const SortedJson& object_;
  std::string source_;
  std::string path_;
  std::optional<Error> error_;
};

}  // namespace indexshare
