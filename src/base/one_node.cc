// numa.h for builds without the library that knows the nodes: all memory counts as one.
#include "base/numa.h"

namespace indexshare {

int numa_nodes() {
  return 1;
}

void bind_thread_to_node(int) {}

void spread_over_nodes(const Memory&) {}

}  // namespace indexshare
