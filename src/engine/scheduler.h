// Who runs how many tokens in the next forward pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace indexshare {

/// Where a running request stands.
struct Standing {
  int64_t pending = 0;  // tokens that are not in its cache yet: 1 where it decodes
  int64_t limit = 0;    // tokens that it may run in one pass
  int32_t priority = 0;
};

/// Fills tokens[i] for requests in order of precedence: higher priority first, then the earlier. Every
/// request that decodes runs its one token. What that leaves of `budget`, and at least one token, goes to
/// those that read their prompts, a higher priority first; of one priority the first few share it evenly, so
/// that a short prompt does not wait for a long one.
void schedule(std::span<const Standing> running, int64_t budget, std::vector<int64_t>& tokens);

}  // namespace indexshare
