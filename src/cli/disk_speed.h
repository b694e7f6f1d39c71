// How fast files are read: the limit of whatever streams weights from a disk.
#pragma once

#include <cstdint>
#include <string>

#include "indexshare/result.h"

namespace indexshare::cli {

struct DiskSpeed {
  std::string what;  // "a temporary file in /tmp, past the page cache"
  int64_t bytes = 0;
  double bytes_per_second = 0;
};

/// Reads the beginning of a file, for a few seconds at most; of a temporary one where `path` is empty.
Result<DiskSpeed> measure_disk(const std::string& path);

}  // namespace indexshare::cli
