#include "engine/scheduler.h"

#include <algorithm>

namespace indexshare {
namespace {

// Prompts that are read side by side: with more, each answer would begin later and none sooner.
constexpr size_t kSideBySide = 4;

// Gives each of `readers` an even share of `budget`; what one does not need goes to the others, what cannot
// be shared to the first. Returns what is left.
int64_t share(std::span<const Standing> running, std::span<const size_t> readers, int64_t budget,
              std::vector<int64_t>& tokens) {
  const auto need = [&](size_t i) { return std::min(running[i].pending, running[i].limit) - tokens[i]; };
  while (budget > 0) {
    const int64_t hungry =
        std::count_if(readers.begin(), readers.end(), [&](size_t i) { return need(i) > 0; });
    if (hungry == 0) break;
    const int64_t even = std::max<int64_t>(1, budget / hungry);
    for (const size_t i : readers) {
      const int64_t taken = std::min({even, need(i), budget});
      tokens[i] += taken;
      budget -= taken;
    }
  }
  return budget;
}

}  // namespace

void schedule(std::span<const Standing> running, int64_t budget, std::vector<int64_t>& tokens) {
  tokens.assign(running.size(), 0);
  for (size_t i = 0; i < running.size(); ++i) {
    if (running[i].pending == 1) {
      tokens[i] = 1;
      --budget;
    }
  }
  budget = std::max<int64_t>(budget, 1);
  std::vector<size_t> readers;
  for (size_t i = 0; i < running.size() && budget > 0;) {
    readers.clear();
    const int32_t priority = running[i].priority;
    for (; i < running.size() && running[i].priority == priority; ++i) {
      if (running[i].pending > 1 && readers.size() < kSideBySide) readers.push_back(i);
    }
    budget = share(running, readers, budget, tokens);
  }
}

}  // namespace indexshare
