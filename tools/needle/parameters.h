// The tensors of a checkpoint that is made up: zero but for what is set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "indexshare/result.h"

namespace indexshare::needle {

class ParameterSet {
 public:
  /// A vector or a matrix of `value`.
  void add(const std::string& name, std::vector<int64_t> shape, double value = 0);

  /// Sets a value of a matrix that was added.
  void set(const std::string& name, int64_t row, int64_t col, double value);

  /// As safetensors in bf16.
  Result<void> write(const std::filesystem::path& path) const;

 private:
  struct Parameter {
    std::vector<int64_t> shape;
    std::vector<double> values;
  };
  std::map<std::string, Parameter> parameters_;
};

}  // namespace indexshare::needle
