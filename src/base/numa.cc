#include "base/numa.h"

#include <numa.h>

#include <algorithm>

namespace indexshare {

int numa_nodes() {
  if (numa_available() < 0) return 1;
  return std::max(1, static_cast<int>(numa_bitmask_weight(numa_all_nodes_ptr)));
}

void bind_thread_to_node(int node) {
  if (numa_available() < 0) return;
  for (unsigned i = 0; i < numa_all_nodes_ptr->size; ++i) {
    if (numa_bitmask_isbitset(numa_all_nodes_ptr, i) == 0 || node-- > 0) continue;
    numa_run_on_node(static_cast<int>(i));  // refused where the process may not: then it runs anywhere
    return;
  }
}

void spread_over_nodes(const Memory& memory) {
  // Smaller blocks share their pages with others.
  if (memory.bytes() < kDirectBytes || numa_available() < 0) return;
  numa_interleave_memory(memory.data(), static_cast<size_t>(memory.bytes()), numa_all_nodes_ptr);
}

}  // namespace indexshare
