// SPDX-License-Identifier: Apache-2.0
// C[m,n] = A[m,k] * B[k,n] of 8-bit floats with a scale factor per block: A has one for each row
// and 128 terms, B one for each 128 columns and 128 terms (the layout of DeepSeek-V3's training,
// and of cuBLASLt's VEC128_32F and BLK128x128_32F).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/gemm/gemm.hpp"
#include "kernels/hopper/tensor_map.hpp"

namespace warpgauge::kernels {

/// Columns and terms of a block of B, terms of a block of A.
inline constexpr std::size_t scale_block = 128;

inline std::size_t scale_blocks(std::size_t elements) {
  return (elements + scale_block - 1) / scale_block;
}

/// A row-major [m,k] and its scales [blocks of k][m]: those of neighbouring rows are neighbours.
struct ScaledRows {
  const __nv_fp8_e4m3* values;
  const float* scales;
};
/// B row-major [n,k], so contiguous along k, and its scales [blocks of n][blocks of k].
struct ScaledTiles {
  const __nv_fp8_e4m3* values;
  const float* scales;
};

// All launchers below: an element of A or B counts as its value times its block's scale. Results
// are rounded once to bf16. c has m*n elements and overlaps no input. k is a multiple of 16, n of
// 8; values and c are aligned to 16 bytes. Asynchronous on stream; can be captured into a graph.
// m = 0 or n = 0 does nothing. Throw std::invalid_argument for k = 0, another k or n, a null or
// misaligned pointer, an extent above 2^31 - 1025, or more than 2^31 - 1 tiles of the stated size;
// std::runtime_error for a refused launch, and the wgmma rungs without wgmma.

/// One output per thread, summed in fp32. Tiles of 16 x 16.
void scaled_gemm_naive(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                       cudaStream_t stream);

/// Persistent blocks: a producer, two consumers, and sums promoted to fp32 registers every 128
/// terms. Tiles of 128 x 128.
void scaled_gemm_wgmma(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                       cudaStream_t stream);

/// Clusters of two blocks that share B. Tiles of 128 x 256 per block, in parts of 128 columns.
void scaled_gemm_wgmma_wide(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                            cudaStream_t stream);

/// Each consumer issues a stage's products before it promotes those of the stage before. Clusters
/// of two blocks that share B. Tiles of 128 x 128 per block.
void scaled_gemm_wgmma_ahead(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                             cudaStream_t stream);

/// For few rows: clusters of four blocks that share A. Tiles of 128 x 64 per block.
void scaled_gemm_wgmma_narrow(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                              cudaStream_t stream);

/// For few rows: clusters of four blocks that have two tiles of 128 x 128, divide their terms, and
/// share A. At most 2^29 - 1 clusters.
void scaled_gemm_wgmma_split(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                             cudaStream_t stream);

/// scaled_gemm_wgmma_split if its blocks are at most nine tenths of the multiprocessors;
/// scaled_gemm_wgmma_wide if its tiles are at least three quarters of them; else
/// scaled_gemm_wgmma_ahead.
void scaled_gemm_best(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                      cudaStream_t stream);

/// expected[i] = element first + i of the flattened C for i < count: dequantised exactly, summed in
/// double precision. Throws as gemm_reference().
void scaled_gemm_reference(ScaledRows a, ScaledTiles b, double* expected, GemmShape shape,
                           std::size_t first, std::size_t count, cudaStream_t stream);

/// One rung of the ladder.
struct ScaledRung {
  const char* name;
  void (*launch)(ScaledRows a, ScaledTiles b, __nv_bfloat16* c, GemmShape shape,
                 cudaStream_t stream);
};

/// The rungs that need wgmma.
inline constexpr ScaledRung scaled_wgmma_ladder[]{
    {"scaled_gemm_wgmma", scaled_gemm_wgmma},
    {"scaled_gemm_wgmma_wide", scaled_gemm_wgmma_wide},
    {"scaled_gemm_wgmma_ahead", scaled_gemm_wgmma_ahead},
    {"scaled_gemm_wgmma_narrow", scaled_gemm_wgmma_narrow},
    {"scaled_gemm_wgmma_split", scaled_gemm_wgmma_split},
    {"scaled_gemm_best", scaled_gemm_best},
};

}  // namespace warpgauge::kernels
