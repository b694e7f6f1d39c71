#include "text/jinja/filters.h"

#include <unordered_map>

namespace indexshare::jinja {

Filter find_filter(std::string_view name) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, Filter> filters;
    for (const auto& [filter_name, filter] : text_filters()) filters.emplace(filter_name, filter);
    for (const auto& [filter_name, filter] : sequence_filters()) filters.emplace(filter_name, filter);
    return filters;
  }();
  const auto found = kByName.find(name);
  return found != kByName.end() ? found->second : nullptr;
}

}  // namespace indexshare::jinja
