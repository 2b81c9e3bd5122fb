// SPDX-License-Identifier: Apache-2.0
// C[m,n] = A[m,k] * W[k,n] with W in 4 bits: w = (q - 8) * scale, where q is 0 to 15 and each
// column has a bf16 scale per group of 128 terms (the "W4A16" of language models' layers).
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {

/// Terms that share a column's scale.
inline constexpr std::size_t int4_group = 128;

/// Most rows of A that int4_gemm_mma takes.
inline constexpr std::size_t int4_most_rows = 16;

/// W in the order in which the lanes of a warp multiply it. A piece of 16 columns and 128 terms is
/// 256 words: word 128 h + 4 (4 g + t) + j, with h < 2, g < 8, t < 4 and j < 4, holds the terms 64
/// h
/// + 16 t + 4 j + {0, 1, 2, 3} of the columns g and g + 8. Its nibble i, from the lowest bits on,
/// is term 2 (i / 2 % 2) + i / 4 of those four and column g + 8 (i % 2). Pieces of one 16 columns
/// follow each other: [n/16][k/128].
struct Int4Weights {
  const std::uint32_t* words;   ///< n * k / 8
  const __nv_bfloat16* scales;  ///< [k/128][n]
};

/// Where weight (k, column) lies: its word, and its lowest bit in there.
struct Int4Place {
  std::size_t word;
  unsigned shift;
};
__host__ __device__ inline Int4Place int4_place(std::size_t k, std::size_t column,
                                                std::size_t k_extent) {
  const std::size_t piece = column / 16 * (k_extent / int4_group) + k / int4_group;
  const std::size_t term = k % int4_group;
  const std::size_t in_piece = column % 16;
  const std::size_t lane = in_piece % 8 * 4 + term % 64 / 16;
  const std::size_t nibble = in_piece / 8 + term % 4 / 2 * 2 + term % 2 * 4;
  return {piece * 256 + term / 64 * 128 + lane * 4 + term % 16 / 4,
          static_cast<unsigned>(nibble) * 4};
}

// All launchers below: k is a multiple of 128, n of 16. a is row-major [m,k], c [m,n]. Words, a and
// c are aligned to 16 bytes. Sums are fp32; each result is rounded once to bf16. c overlaps no
// input. Asynchronous on stream; can be captured into a graph. m = 0 or n = 0 does nothing. Throw
// std::invalid_argument for k = 0, another k or n, a null or misaligned pointer, or more than
// 2^31 - 1 blocks; std::runtime_error for a refused launch.

/// One output per thread.
void int4_gemm_naive(const __nv_bfloat16* a, Int4Weights w, __nv_bfloat16* c, GemmShape shape,
                     cudaStream_t stream);

/// Up to 16 rows (std::invalid_argument for more). mma.sync with W as its operand of 16 rows, so
/// that few rows of A waste little.
void int4_gemm_mma(const __nv_bfloat16* a, Int4Weights w, __nv_bfloat16* c, GemmShape shape,
                   cudaStream_t stream);

/// expected[i] = element first + i of the flattened C for i < count, dequantised exactly and summed
/// in double precision. Throws as gemm_reference().
void int4_gemm_reference(const __nv_bfloat16* a, Int4Weights w, double* expected, GemmShape shape,
                         std::size_t first, std::size_t count, cudaStream_t stream);

}  // namespace warpgauge::kernels
