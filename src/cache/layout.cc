#include "cache/layout.h"

namespace indexshare {

CacheLayout::CacheLayout(DType type, int64_t latent, int64_t index, const std::vector<bool>& full,
                         IndexKeys keys)
    : dtype(type), index_keys(keys), latent_width(latent), index_width(index) {
  int slots = 0;
  for (const bool owns_keys : full) index_slot.push_back(owns_keys ? slots++ : -1);
  page_bytes = latent_offset(layers()) + slots * index_area_bytes();
}

}  // namespace indexshare
