// Attention to gathered cache rows on AMX tiles.
#include <type_traits>

#include "cpu/amx_kernels.h"
#include "cpu/amx_tiles.h"
#include "cpu/simd_kernels.h"

namespace indexshare::cpu {
namespace {

constexpr int64_t kMaxGroups = 4;    // of 16 heads: what attend() takes at most
constexpr int64_t kValueRows = 128;  // cache rows whose values are packed at a time

// Where attend() keeps what: everything for `groups` groups of 16 heads and n rows, padded to whole tiles.
struct AttendScratch {
  int64_t groups, width, latent, n;  // padded
  bf16* q;                           // [groups][width / 2][16][2]
  bf16* keys;                        // [32][width]
  float* scores;                     // [groups][n][16]
  bf16* weights;                     // [groups][16][n]
  bf16* values;                      // [kValueRows / 2][latent][2]
  float* out;                        // [groups][16][latent]
  int64_t bytes;

  AttendScratch(int64_t heads, int64_t latent_width, int64_t rope, int64_t rows, std::byte* base)
      : groups(round_up(heads, kTileRows) / kTileRows),
        width(round_up(latent_width + rope, kTileDepth)),
        latent(round_up(latent_width, 32)),
        n(round_up(rows, kTileDepth)) {
    bytes = 0;
    auto take = [&](auto*& pointer, int64_t count) {
      using Pointer = std::remove_reference_t<decltype(pointer)>;
      pointer = base != nullptr ? reinterpret_cast<Pointer>(base + bytes) : nullptr;
      bytes += round_up(count * static_cast<int64_t>(sizeof(*pointer)), 64);
    };
    take(q, groups * width * kTileRows);
    take(keys, 2 * kTileRows * width);
    take(scores, groups * n * kTileRows);
    take(weights, groups * n * kTileRows);
    take(values, kValueRows * latent);
    take(out, groups * kTileRows * latent);
  }
};

// scores[g][s][h] = rows[s] . q[g][h], two groups of heads and 32 rows at a time.
void attend_scores(const AttendArgs& a, const AttendScratch& m, Tiles& tiles) {
  const int64_t width = a.latent + a.rope;
  std::memset(static_cast<void*>(m.keys), 0, static_cast<size_t>(2 * kTileRows * m.width) * sizeof(bf16));
  for (int64_t s = 0; s < m.n; s += 2 * kTileRows) {
    for (int64_t r = 0; r < 2 * kTileRows && s + r < a.n; ++r) {
      if (s + r + 8 < a.n) {
        const char* ahead = reinterpret_cast<const char*>(a.rows[s + r + 8]);
        for (int64_t b = 0; b < width * 2; b += 64) _mm_prefetch(ahead + b, _MM_HINT_T0);
      }
      std::memcpy(m.keys + r * m.width, a.rows[s + r], static_cast<size_t>(width) * sizeof(bf16));
    }
    for (int64_t g = 0; g < m.groups; g += 2) {
      const bool two = g + 1 < m.groups;
      tiles.shape(kTileRows, kTileRows, kTileRows, two ? kTileRows : 0);
      zero_sums(true, two);
      for (int64_t k = 0; k < m.width; k += kTileDepth) {
        const bf16* q = m.q + g * m.width * kTileRows + k * kTileRows;
        multiply({.a = {m.keys + k, m.keys + kTileRows * m.width + k},
                  .a_stride = m.width * 2,
                  .b = {q, two ? q + m.width * kTileRows : nullptr},
                  .b_stride = {kTileBytes, kTileBytes}});
      }
      float* scores = m.scores + (g * m.n + s) * kTileRows;
      _tile_stored(0, scores, kTileBytes);
      _tile_stored(2, scores + kTileRows * kTileRows, kTileBytes);
      if (!two) continue;
      scores += m.n * kTileRows;
      _tile_stored(1, scores, kTileBytes);
      _tile_stored(3, scores + kTileRows * kTileRows, kTileBytes);
    }
  }
}

// weights[h][s] = exp(scale * (scores[s][h] - max)) in bf16, zero behind the last row; returns the 16 sums.
__m512 attend_softmax(const AttendArgs& a, const AttendScratch& m, int64_t g) {
  const float* scores = m.scores + g * m.n * kTileRows;
  bf16* weights = m.weights + g * m.n * kTileRows;
  __m512 max = Avx512::load(scores);
  for (int64_t s = 1; s < a.n; ++s) max = Avx512::max(max, Avx512::load(scores + s * kTileRows));
  const __m512 scale = Avx512::set(a.scale);
  __m512 sum = Avx512::zero();
  for (int64_t s = 0; s < m.n; s += 16) {
    __m512i lines[16];
    for (int64_t r = 0; r < 16; ++r) {
      if (s + r >= a.n) {
        lines[r] = _mm512_setzero_si512();
        continue;
      }
      const __m512 score = Avx512::load(scores + (s + r) * kTileRows);
      const __m512 e = exp<Avx512>(Avx512::mul(scale, Avx512::sub(score, max)));
      sum = Avx512::add(sum, e);
      lines[r] = _mm512_castps_si512(e);
    }
    transpose(lines);
    for (int64_t h = 0; h < 16; ++h) Avx512::store(weights + h * m.n + s, _mm512_castsi512_ps(lines[h]));
  }
  return sum;
}

// values[s / 2][c][s % 2] = rows[first + s][c], for a block of kValueRows rows; zero behind the last one.
void pack_values(const AttendArgs& a, const AttendScratch& m, int64_t first) {
  for (int64_t s = 0; s < kValueRows; s += 2) {
    bf16* out = m.values + s * m.latent;
    for (int64_t c = 0; c < m.latent; c += 32) {
      auto line = [&](int64_t row) {
        return row < a.n ? load_columns(a.rows[row] + c, a.latent - c) : _mm512_setzero_si512();
      };
      interleave(line(first + s), line(first + s + 1), out + c * 2);
    }
  }
}

// out[g][h][c] += sum over the block's rows of weights[g][h][s] * values[s][c], 32 columns at a time.
void attend_values(const AttendScratch& m, int64_t first, Tiles& tiles) {
  const int64_t rows = m.n - first < kValueRows ? m.n - first : kValueRows;
  for (int64_t g = 0; g < m.groups; g += 2) {
    const bool two = g + 1 < m.groups;
    tiles.shape(kTileRows, two ? kTileRows : 0, kTileRows, kTileRows);
    const auto stride = static_cast<size_t>(m.latent) * sizeof(float);
    for (int64_t c = 0; c < m.latent; c += 32) {
      float* out = m.out + g * kTileRows * m.latent + c;
      float* next = out + kTileRows * m.latent;
      _tile_loadd(0, out, stride);
      _tile_loadd(1, out + 16, stride);
      if (two) _tile_loadd(2, next, stride);
      if (two) _tile_loadd(3, next + 16, stride);
      for (int64_t s = 0; s < rows; s += kTileDepth) {
        const bf16* weights = m.weights + g * m.n * kTileRows + first + s;
        const bf16* values = m.values + s * m.latent + c * 2;
        multiply({.a = {weights, two ? weights + m.n * kTileRows : nullptr},
                  .a_stride = m.n * 2,
                  .b = {values, values + 32},
                  .b_stride = {m.latent * 4, m.latent * 4}});
      }
      _tile_stored(0, out, stride);
      _tile_stored(1, out + 16, stride);
      if (two) _tile_stored(2, next, stride);
      if (two) _tile_stored(3, next + 16, stride);
    }
  }
}

}  // namespace

namespace amx {

int64_t attend_scratch_bytes(int64_t heads, int64_t latent, int64_t rope, int64_t n) {
  return AttendScratch(heads, latent, rope, n, nullptr).bytes;
}

void attend(const AttendArgs& a) {
  const AttendScratch m(a.heads, a.latent, a.rope, a.n, a.scratch);
  const int64_t width = a.latent + a.rope;
  static constexpr float kZeros[1] = {};
  for (int64_t g = 0; g < m.groups; ++g) {
    const int64_t heads = a.heads - g * kTileRows < kTileRows ? a.heads - g * kTileRows : kTileRows;
    bf16* q = m.q + g * m.width * kTileRows;
    for (int64_t i = 0; i < width; i += kTileDepth) {  // as pack(), always 16 columns
      __m512i rows[16];
      for (int64_t h = 0; h < 16; ++h) {
        rows[h] = h < heads ? to_pairs(a.q[g * kTileRows + h] + i, width - i) : to_pairs(kZeros, 0);
      }
      transpose(rows);
      for (int64_t p = 0; p < 16; ++p) _mm512_storeu_si512(q + i * kTileRows + p * 32, rows[p]);
    }
  }
  std::memset(m.out, 0, static_cast<size_t>(m.groups * kTileRows * m.latent) * sizeof(float));
  Tiles tiles;
  attend_scores(a, m, tiles);
  alignas(64) float sums[16];
  float factors[kMaxGroups][16];
  for (int64_t g = 0; g < m.groups; ++g) {
    Avx512::store(sums, attend_softmax(a, m, g));
    for (int h = 0; h < 16; ++h) factors[g][h] = 1.0f / sums[h];
  }
  for (int64_t first = 0; first < m.n; first += kValueRows) {
    pack_values(a, m, first);
    attend_values(m, first, tiles);
  }
  for (int64_t h = 0; h < a.heads; ++h) {
    scale<Avx512>(m.out + h * m.latent, factors[h / 16][h % 16], a.latent, a.out[h]);
  }
}

}  // namespace amx
}  // namespace indexshare::cpu
