// How an engine is set up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace indexshare {

/// How activations, or the values of the cache, are held.
enum class FloatType : uint8_t { f32, bf16 };

constexpr std::string_view float_type_name(FloatType type) {
  return type == FloatType::f32 ? "f32" : "bf16";
}

constexpr std::optional<FloatType> find_float_type(std::string_view name) {
  for (const FloatType type : {FloatType::f32, FloatType::bf16}) {
    if (name == float_type_name(type)) return type;
  }
  return std::nullopt;
}

/// How the index keys of a full layer are kept. `plain`: in the cache's type. `int8`: in whole numbers of 8
/// bits under one scale per key. `screened`: in both forms, where the second one tells which keys are worth
/// scoring by the first, so that the selection is that of `plain`.
enum class IndexKeys : uint8_t { plain, int8, screened };

constexpr std::string_view index_keys_name(IndexKeys keys) {
  return keys == IndexKeys::plain ? "plain" : keys == IndexKeys::int8 ? "int8" : "screened";
}

constexpr std::optional<IndexKeys> find_index_keys(std::string_view name) {
  for (const IndexKeys keys : {IndexKeys::plain, IndexKeys::int8, IndexKeys::screened}) {
    if (name == index_keys_name(keys)) return keys;
  }
  return std::nullopt;
}

/// The defaults fit the model and the machine.
struct EngineOptions {
  int threads = 0;                       // 0: one per processor
  int numa_nodes = 0;                    // memory nodes to share work and caches over; 0: all, 1: none
  std::optional<FloatType> compute;      // none: bf16 for bf16 and fp8 checkpoints, else f32
  std::optional<FloatType> cache_dtype;  // none: as compute
  IndexKeys index_keys = IndexKeys::plain;
  std::string schedule;  // per layer F or S, as ModelInfo's; empty: the model's own. F where that has F alone
  float latent_norm_eps = 1e-6f;  // of q_a_layernorm and kv_a_layernorm
  int64_t context = 0;  // tokens a sequence may have; 0: max_position_embeddings, or what fits into memory
  int64_t cache_bytes = 0;     // budget of all caches; 0: what fits into memory
  int64_t chunk = 512;         // tokens in one forward pass
  int64_t ram_bytes = 0;       // memory to stay inside; 0: what the machine has available
  int64_t max_running = 64;    // requests that are worked on at once; others wait
  int64_t max_waiting = 0;     // requests that may wait: one more is refused (ErrorCode::busy); 0: any number
  bool reuse_prefixes = true;  // keep the cache of finished requests for those that begin alike

  // Where pages of the cache go that memory has no room for, to come back when prompts begin with their
  // tokens; at the end also those that memory holds. Empty: nowhere. A directory is one engine's at a time.
  std::string disk_cache;
  int64_t disk_cache_bytes = int64_t{16} << 30;         // of all files there
  std::function<void(std::string_view sentence)> warn;  // of what goes wrong without failing a request, from
                                                        // any thread; or empty

  const char* prefix = "";  // goes before the names of settings in errors: "--" on a command line
};

}  // namespace indexshare
