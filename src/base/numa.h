// Machines whose memory lies in several nodes, each nearer to some of the processors than to others.
#pragma once

#include <cstdint>

#include "base/memory.h"

namespace indexshare {

/// The nodes that this process may take memory from; 1 where the system knows none.
int numa_nodes();

/// Keeps the calling thread on the processors of a node in [0, numa_nodes()), so that what it touches first
/// is placed there.
void bind_thread_to_node(int node);

/// Lets the pages of a block that nothing has touched yet come from all nodes by turns: for what every thread
/// reads.
void spread_over_nodes(const Memory& memory);

}  // namespace indexshare
