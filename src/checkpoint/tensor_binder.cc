#include "checkpoint/tensor_binder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "formats/format.h"

namespace indexshare {
namespace {

constexpr size_t kListed = 10;  // of each kind of problem; the others are counted

/// "2 tensors are missing: a, b"
std::string listing(const TensorProblems& problems, std::string_view are) {
  std::string text =
      fmt::format("{} {} {}: {}", problems.count, problems.count == 1 ? "tensor is" : "tensors are", are,
                  fmt::join(problems.first, ", "));
  const int64_t others = problems.count - std::ssize(problems.first);
  if (others > 0) text += fmt::format(" and {} more", others);
  return text;
}

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// The format of a tensor; null where weights are not stored in it.
const Format* format_of(const StoredTensor& tensor) {
  const std::optional<DType> dtype = dtype_from_safetensors(tensor.dtype);
  return dtype ? find_format(*dtype) : nullptr;
}

}  // namespace

void TensorProblems::add(std::string text) {
  ++count;
  if (first.size() < kListed) first.push_back(std::move(text));
}

TensorBinder::TensorBinder(std::shared_ptr<const Checkpoint> checkpoint, int64_t block_rows,
                           int64_t block_cols)
    : storage_(std::make_shared<WeightStorage>()), block_rows_(block_rows), block_cols_(block_cols) {
  storage_->checkpoint = std::move(checkpoint);
}

const StoredTensor* TensorBinder::take(const std::string& name, const std::vector<int64_t>& shape) {
  const auto& tensors = storage_->checkpoint->tensors();
  const auto it = tensors.find(name);
  if (it == tensors.end()) {
    missing_.add(name);
    return nullptr;
  }
  used_.insert(it->first);
  if (it->second->shape == shape) return it->second;
  unfit_.add(fmt::format("{} is {}, expected {}", name, shape_text(it->second->shape), shape_text(shape)));
  return nullptr;
}

/// The tensor's bytes where they are aligned, else those of a copy.
const std::byte* TensorBinder::aligned(const StoredTensor& tensor, int64_t alignment) {
  if (reinterpret_cast<uintptr_t>(tensor.bytes.data()) % static_cast<uintptr_t>(alignment) == 0) {
    return tensor.bytes.data();
  }
  return storage_->copies.emplace_back(tensor.bytes.begin(), tensor.bytes.end()).data();
}

Matrix TensorBinder::matrix(const std::string& name, int64_t rows, int64_t cols) {
  const StoredTensor* tensor = take(name, {rows, cols});
  if (tensor == nullptr) return {};
  const Format* format = format_of(*tensor);
  if (format == nullptr) {
    unfit_.add(fmt::format("{} is stored as {}, expected F32, BF16, F16 or F8_E4M3", name, tensor->dtype));
    return {};
  }
  Matrix matrix{.dtype = format->dtype, .rows = rows, .cols = cols};
  matrix.data = aligned(*tensor, dtype_bytes(format->dtype));
  if (format->scaled && !bind_scales(name, matrix)) return {};
  return matrix;
}

/// The scales of block-quantized matrices go by two names; both multiply, "inv" or not.
bool TensorBinder::bind_scales(const std::string& name, Matrix& matrix) {
  const std::string names[] = {name + "_scale_inv", name + "_scale"};
  const int64_t found = std::ranges::count_if(names, [&](const std::string& scales) { return has(scales); });
  if (found != 1) {
    unfit_.add(fmt::format("{} is F8_E4M3 and has {} of {} and {}, expected one", name,
                           found == 0 ? "none" : "both", names[0], names[1]));
    return false;
  }
  const std::string& scales_name = has(names[0]) ? names[0] : names[1];
  matrix.block_rows = block_rows_;
  matrix.block_cols = block_cols_;
  const StoredTensor* scales =
      take(scales_name, {ceil_div(matrix.rows, block_rows_), ceil_div(matrix.cols, block_cols_)});
  if (scales == nullptr) return false;
  if (scales->dtype != "F32") {
    unfit_.add(fmt::format("{} is stored as {}, expected F32", scales_name, scales->dtype));
    return false;
  }
  matrix.scales = reinterpret_cast<const float*>(aligned(*scales, alignof(float)));
  return true;
}

std::vector<float> TensorBinder::vector(const std::string& name, int64_t size) {
  const StoredTensor* tensor = take(name, {size});
  if (tensor == nullptr) return {};
  const Format* format = format_of(*tensor);
  if (format == nullptr || format->scaled) {
    unfit_.add(fmt::format("{} is stored as {}, expected F32, BF16 or F16", name, tensor->dtype));
    return {};
  }
  std::vector<float> values(static_cast<size_t>(size));
  format->decode(tensor->bytes.data(), size, values.data());
  return values;
}

std::vector<Matrix> TensorBinder::matrices(const std::string& name, int64_t count, int64_t rows,
                                           int64_t cols) {
  const StoredTensor* tensor = take(name, {count, rows, cols});
  if (tensor == nullptr) return std::vector<Matrix>(static_cast<size_t>(count));
  const Format* format = format_of(*tensor);
  if (format == nullptr || format->scaled) {
    unfit_.add(fmt::format("{} is stored as {}, expected F32, BF16 or F16", name, tensor->dtype));
    return std::vector<Matrix>(static_cast<size_t>(count));
  }
  const std::byte* data = aligned(*tensor, dtype_bytes(format->dtype));
  std::vector<Matrix> matrices;
  for (int64_t i = 0; i < count; ++i) {
    Matrix& matrix = matrices.emplace_back(Matrix{.dtype = format->dtype, .rows = rows, .cols = cols});
    matrix.data = data + i * rows * matrix.row_bytes();
  }
  return matrices;
}

bool TensorBinder::has_prefix(std::string_view prefix) const {
  const auto it = storage_->checkpoint->tensors().lower_bound(prefix);
  return it != storage_->checkpoint->tensors().end() && it->first.starts_with(prefix);
}

void TensorBinder::ignore(std::string_view name) {
  const auto it = storage_->checkpoint->tensors().find(name);
  if (it != storage_->checkpoint->tensors().end()) used_.insert(it->first);
}

void TensorBinder::ignore_prefix(std::string_view prefix) {
  const auto& tensors = storage_->checkpoint->tensors();
  for (auto it = tensors.lower_bound(prefix); it != tensors.end() && it->first.starts_with(prefix); ++it) {
    used_.insert(it->first);
  }
}

Result<void> TensorBinder::check() const {
  TensorProblems unknown;
  for (const auto& [name, tensor] : storage_->checkpoint->tensors()) {
    if (!used_.contains(name)) unknown.add(std::string(name));
  }
  std::vector<std::string> problems;
  if (missing_.count > 0) problems.push_back(listing(missing_, "missing"));
  if (unfit_.count > 0) problems.push_back(listing(unfit_, "not as expected"));
  if (unknown.count > 0) problems.push_back(listing(unknown, "unknown"));
  if (problems.empty()) return {};
  return make_error("{}: the weights do not match config.json: {}",
                    storage_->checkpoint->directory().string(), fmt::join(problems, "; "));
}

}  // namespace indexshare
