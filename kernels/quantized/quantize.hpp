// SPDX-License-Identifier: Apache-2.0
// From bf16 to the formats of scaled.hpp and int4.hpp. A block's scale is the largest magnitude in
// it, divided by the format's largest number (448 of e4m3, 7 of the 4-bit integers); a block
// without a magnitude above 2^-100 counts as one with 2^-100.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/quantized/int4.hpp"
#include "kernels/quantized/scaled.hpp"

namespace warpgauge::kernels {

inline constexpr float e4m3_largest = 448;
inline constexpr float int4_largest = 7;
inline constexpr float least_magnitude = 0x1p-100F;

// All launchers below: `in` is row-major [rows,k], the matrix of which a product sums over k; it is
// aligned to 16 bytes, as are values and words. Outputs overlap no input. Asynchronous on stream;
// can be captured into a graph. rows = 0 or k = 0 does nothing. Throw std::invalid_argument for
// another k (or rows, where stated), a null or misaligned pointer, or more than 2^31 - 1 blocks;
// std::runtime_error for a refused launch. Results for infinities and NaN are unspecified.

/// Where the scale of (row, k) lies: [row / rows_of_block * row_stride + k / 128 * k_stride].
struct ScaleLayout {
  std::size_t rows_of_block, row_stride, k_stride;
};
/// Of ScaledRows and of ScaledTiles.
inline ScaleLayout scales_of_rows(std::size_t rows) {
  return {1, 1, rows};
}
inline ScaleLayout scales_of_tiles(std::size_t k) {
  return {scale_block, scale_blocks(k), 1};
}

/// To ScaledRows: a scale per row and 128 terms. k is a multiple of 16. _naive: one thread per
/// scale.
void quantize_rows_naive(const __nv_bfloat16* in, __nv_fp8_e4m3* values, float* scales,
                         std::size_t rows, std::size_t k, cudaStream_t stream);
void quantize_rows(const __nv_bfloat16* in, __nv_fp8_e4m3* values, float* scales, std::size_t rows,
                   std::size_t k, cudaStream_t stream);

/// To ScaledTiles: a scale per 128 rows and 128 terms. k is a multiple of 16. _naive: reads twice.
void quantize_tiles_naive(const __nv_bfloat16* in, __nv_fp8_e4m3* values, float* scales,
                          std::size_t rows, std::size_t k, cudaStream_t stream);
void quantize_tiles(const __nv_bfloat16* in, __nv_fp8_e4m3* values, float* scales, std::size_t rows,
                    std::size_t k, cudaStream_t stream);

/// To Int4Weights of `rows` columns: q = 8 + in / scale, rounded to the nearest, ties to even, and
/// kept in 0 to 15. rows is a multiple of 16, k of 128. _naive: one thread per word.
void quantize_int4_naive(const __nv_bfloat16* in, std::uint32_t* words, __nv_bfloat16* scales,
                         std::size_t rows, std::size_t k, cudaStream_t stream);
void quantize_int4(const __nv_bfloat16* in, std::uint32_t* words, __nv_bfloat16* scales,
                   std::size_t rows, std::size_t k, cudaStream_t stream);

// References: for a window that is not within the output, also std::invalid_argument. Alignment is
// that of types.

/// expected[i] = element first + i of in / scale, for i < count: what values are before they are
/// rounded, by the scales that a launcher wrote. The tolerance of e4m3 is 2^-4 of the value, and
/// 2^-10, half of the least number.
void quantize_reference(const __nv_bfloat16* in, const float* scales, ScaleLayout layout,
                        double* expected, std::size_t rows, std::size_t k, std::size_t first,
                        std::size_t count, cudaStream_t stream);

/// expected[i] = word first + i, for i < count, by the scales that a launcher wrote.
void quantize_int4_reference(const __nv_bfloat16* in, const __nv_bfloat16* scales, double* expected,
                             std::size_t rows, std::size_t k, std::size_t first, std::size_t count,
                             cudaStream_t stream);

}  // namespace warpgauge::kernels
