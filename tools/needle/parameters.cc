#include "needle/parameters.h"

#include <span>

#include "base/error.h"
#include "checkpoint/safetensors_writer.h"

namespace indexshare::needle {

void ParameterSet::add(const std::string& name, std::vector<int64_t> shape, double value) {
  int64_t size = 1;
  for (const int64_t n : shape) size *= n;
  parameters_[name] = {std::move(shape), std::vector<double>(static_cast<size_t>(size), value)};
}

void ParameterSet::set(const std::string& name, int64_t row, int64_t col, double value) {
  Parameter& parameter = parameters_.at(name);
  parameter.values.at(static_cast<size_t>(row * parameter.shape.back() + col)) = value;
}

Result<void> ParameterSet::write(const std::filesystem::path& path) const {
  std::vector<TensorDeclaration> declarations;
  for (const auto& [name, parameter] : parameters_) {
    declarations.push_back({.name = name, .dtype = DType::bf16, .shape = parameter.shape});
  }
  ASSIGN_OR_RETURN(SafetensorsWriter writer, SafetensorsWriter::create(path, declarations));
  for (const auto& [name, parameter] : parameters_) {
    std::vector<bf16> stored;
    for (const double value : parameter.values) stored.push_back(to_bf16(static_cast<float>(value)));
    RETURN_IF_ERROR(writer.write(std::as_bytes(std::span(stored))));
  }
  return writer.finish();
}

}  // namespace indexshare::needle
