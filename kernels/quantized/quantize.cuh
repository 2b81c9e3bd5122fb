// SPDX-License-Identifier: Apache-2.0
// What the kernels share: arithmetic of one element or of the eight in 16 bytes, and checks.
#pragma once

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/arguments.hpp"
#include "kernels/quantized/quantize.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned quantize_threads = 256;
inline constexpr unsigned chunk_values = 8;  ///< in 16 bytes
inline constexpr unsigned chunks_of_block = static_cast<unsigned>(scale_block) / chunk_values;

__device__ inline void to_floats(float (&to)[chunk_values], const uint4& chunk) {
  __nv_bfloat162 two[chunk_values / 2];
  std::memcpy(two, &chunk, sizeof(chunk));
#pragma unroll
  for (unsigned i = 0; i < chunk_values / 2; ++i) {
    const float2 pair = __bfloat1622float2(two[i]);
    to[i * 2] = pair.x;
    to[i * 2 + 1] = pair.y;
  }
}

/// The eight elements at `from`, which is aligned to 16 bytes.
__device__ inline void load_chunk(float (&to)[chunk_values], const __nv_bfloat16* from) {
  to_floats(to, __ldcs(reinterpret_cast<const uint4*>(from)));
}

__device__ inline float largest_magnitude(const float (&values)[chunk_values], float so_far) {
#pragma unroll
  for (const float value : values) {
    so_far = fmaxf(so_far, fabsf(value));
  }
  return so_far;
}

/// The largest over `Lanes` neighbouring lanes, a power of two.
template <unsigned Lanes>
__device__ inline float largest_of_lanes(float value) {
#pragma unroll
  for (unsigned distance = 1; distance < Lanes; distance *= 2) {
    value = fmaxf(value, __shfl_xor_sync(~0U, value, distance));
  }
  return value;
}

__device__ inline float e4m3_scale(float largest) {
  return fmaxf(largest, least_magnitude) / e4m3_largest;
}

/// Its reciprocal, rounded once more.
__device__ inline float e4m3_factor(float largest) {
  return e4m3_largest / fmaxf(largest, least_magnitude);
}

__device__ inline __nv_bfloat16 int4_scale(float largest) {
  return __float2bfloat16_rn(fmaxf(largest, least_magnitude) / int4_largest);
}

__device__ inline unsigned int4_of(float value, float scale) {
  return static_cast<unsigned>(8 + fminf(fmaxf(rintf(__fdiv_rn(value, scale)), -8), 7));
}

/// Stores eight e4m3 at `to`, aligned to 8 bytes.
__device__ inline void store_chunk(__nv_fp8_e4m3* to, const float (&values)[chunk_values],
                                   float factor) {
  __nv_fp8x2_storage_t two[chunk_values / 2];
#pragma unroll
  for (unsigned i = 0; i < chunk_values / 2; ++i) {
    two[i] = __nv_cvt_float2_to_fp8x2({values[i * 2] * factor, values[i * 2 + 1] * factor},
                                      __NV_SATFINITE, __NV_E4M3);
  }
  uint2 chunk;
  std::memcpy(&chunk, two, sizeof(chunk));
  *reinterpret_cast<uint2*>(to) = chunk;
}

/// Throws for a shape that no launcher to e4m3 takes.
inline void require_quantize_shape(const char* launcher, std::size_t rows, std::size_t k) {
  if (k % 16 != 0) {
    throw std::invalid_argument(std::string(launcher) + ": k=" + std::to_string(k) +
                                " must be a multiple of 16");
  }
  require_countable(launcher, rows, k, sizeof(double));
}

/// Throws what the launchers to e4m3 throw for their arguments.
inline void require_quantize(const char* launcher, const __nv_bfloat16* in,
                             const __nv_fp8_e4m3* values, const float* scales, std::size_t rows,
                             std::size_t k) {
  require_quantize_shape(launcher, rows, k);
  require_arrays(launcher, {{"in", in, 16}, {"values", values, 16}, {"scales", scales}});
}

/// The same for 4-bit integers.
inline void require_quantize_int4_shape(const char* launcher, std::size_t rows, std::size_t k) {
  if (rows % 16 != 0 || k % int4_group != 0) {
    throw std::invalid_argument(std::string(launcher) + ": rows=" + std::to_string(rows) + " k=" +
                                std::to_string(k) + ": rows must be a multiple of 16, k of 128");
  }
  require_countable(launcher, rows, k, sizeof(double));
}

inline void require_quantize_int4(const char* launcher, const __nv_bfloat16* in,
                                  const std::uint32_t* words, const __nv_bfloat16* scales,
                                  std::size_t rows, std::size_t k) {
  require_quantize_int4_shape(launcher, rows, k);
  require_arrays(launcher, {{"in", in, 16}, {"words", words, 16}, {"scales", scales}});
}

}  // namespace warpgauge::kernels
