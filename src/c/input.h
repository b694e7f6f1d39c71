// What the C interface is given: structs that begin with their size, as options and requests of the engine.
#pragma once

#include "indexshare/engine.h"
#include "indexshare/indexshare.h"

namespace indexshare::c {

Result<void> init_options(indexshare_options* options, size_t size);
Result<void> init_request(const GenerationRequest& defaults, indexshare_request* request, size_t size);

/// The defaults as the C interface has them, and what an engine was loaded with.
indexshare_options to_c(const EngineOptions& options);

Result<EngineOptions> read_options(const indexshare_options* given);

/// A struct of this version's size, whatever version the caller was built with.
Result<indexshare_request> read_struct(const indexshare_request* given);

/// `prompt_limit`: more tokens than this are refused unread.
Result<GenerationRequest> read_request(const indexshare_request& given, int64_t prompt_limit);

/// An array that may be null where it is empty.
Result<std::span<const int32_t>> read_ids(const int32_t* ids, size_t count, const char* name);

}  // namespace indexshare::c
