// The fields of a request's body: described once, read with what was described, and held against the
// documents.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/refusal.h"

namespace indexshare::server {

/// Of whole numbers that count something.
inline constexpr double kMaxCount = std::numeric_limits<int32_t>::max();

struct Field {
  std::string_view name;
  std::string_view type;  // in words, as errors say it: "a number", "a string or a list of strings"
  std::string_view about;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

/// Reads fields of an object. The first one that is not as described is remembered and all later ones are
/// left alone, so that a caller asks once, at the end. A null counts as absent.
class FieldReader {
 public:
  /// `object` must outlive the reader.
  explicit FieldReader(const Json& object) : object_(&object) {}

  /// nullptr where absent.
  const Json* find(std::string_view name) const;

  // Leave `target` alone where the field is absent.
  void read(const Field& field, bool& target);
  void read(const Field& field, float& target);
  void read(const Field& field, int32_t& target);
  void read(const Field& field, int64_t& target);
  void read(const Field& field, uint64_t& target);  // negative ones as their two's complement
  void read(const Field& field, std::string& target);
  void read(const Field& field,
            std::vector<std::string>& target);  // one string or a list, none of them empty
  template <typename T>
  void read(const Field& field, std::optional<T>& target) {
    if (find(field.name) == nullptr) return;
    T value{};
    read(field, value);
    target = std::move(value);
  }

  /// "temperature is "hot", expected a number from 0 to 2".
  void refuse(const Field& field);
  void refuse(std::string_view field, std::string message);

  const std::optional<Refusal>& refusal() const { return refusal_; }

 private:
  const Json* wanted(const Field& field) const { return refusal_ ? nullptr : find(field.name); }
  std::optional<double> number(const Field& field, bool whole);

  const Json* object_;
  std::optional<Refusal> refusal_;
};

/// Whether it may be a token's: the engine knows which there are.
bool is_token_id(const Json& value);

/// A value as an error shows it: short, on one line.
std::string shown(const Json& value);

}  // namespace indexshare::server
