// The storage formats of weights: one row of a table each. What a layer above needs to know of a format
// is a column here; nothing above linear() branches on one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace indexshare {

/// Values are stored in blocks that decode on their own; a block of one value is a plain element type.
struct Format {
  DType dtype;
  int64_t block_values;
  int64_t block_bytes;
  bool scaled;  // values count in units of a scale that the matrix holds beside them (Matrix::scales)

  /// Writes `count` values as f32, a multiple of block_values. `source` needs no alignment.
  void (*decode)(const std::byte* source, int64_t count, float* out);
};

/// The format's row; null for element types that weights are not stored in.
const Format* find_format(DType dtype);

}  // namespace indexshare
