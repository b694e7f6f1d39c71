// The fields that say how tokens are chosen: the same for every route that generates.
#pragma once

#include <span>

#include "indexshare/generation.h"
#include "server/fields.h"

namespace indexshare::server {

std::span<const Field> sampling_fields();

/// Into a request that holds the defaults.
void read_sampling(FieldReader& fields, GenerationRequest& request);

/// `count` copies that differ in their seeds: that of the request, the next one, and so on.
std::vector<GenerationRequest> copies(GenerationRequest request, int64_t count);

}  // namespace indexshare::server
