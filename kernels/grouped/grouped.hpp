// SPDX-License-Identifier: Apache-2.0
// Grouped GEMM, as in layers of experts: the rows of A are sorted by expert, each expert has a
// matrix B of its own, and C = A B, row by row with the row's expert. How many rows an expert has
// is known on the device only.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/hopper/tensor_map.hpp"

namespace warpgauge::kernels {

/// Rows of A and C of all experts together, columns of C, terms of each sum, experts.
struct GroupedShape {
  std::size_t rows, n, k, experts;
};

/// T: __nv_bfloat16 or __nv_fp8_e4m3. All pointers are of device memory.
template <class T>
struct GroupedInputs {
  const T* a;  ///< [rows,k]
  const T* b;  ///< bf16: [experts,k,n]; e4m3: [experts,n,k], contiguous along k as wgmma needs it
  /// Expert e has the rows from offsets[e] to below offsets[e + 1], maybe none: experts + 1 numbers
  /// that ascend from 0 to `rows`. The launchers cannot check them.
  const std::int32_t* offsets;
  const float* scales = nullptr;  ///< e4m3: [experts], factors of the experts' results
};

// All launchers below: sums are fp32 (of e4m3 in the tensor cores alone, which keep about 14 bits);
// each result is multiplied by its expert's scale, if there is one, and rounded once to bf16. c has
// rows*n elements and overlaps no input. a, b and c are aligned to 16 bytes. n is a multiple of 8;
// k is a multiple of 64 (bf16) or 16 (e4m3). Asynchronous on stream; can be captured into a graph:
// the offsets are read when it runs. rows = 0 or n = 0 does nothing. Throw std::invalid_argument
// for another n or k, k = 0, no experts, a null or misaligned pointer, a matrix B of all experts
// with more than 2^31 - 1025 rows, or more than 2^31 - 1 tiles; std::runtime_error for a refused
// launch.

/// One output per thread, which searches its row's expert. Tiles of 16 x 16.
template <class T>
void grouped_gemm_naive(GroupedInputs<T> inputs, __nv_bfloat16* c, GroupedShape shape,
                        cudaStream_t stream);

/// Persistent blocks that find their tiles from the offsets: wgmma and TMA, tiles of 128 x 256.
/// Also throws std::runtime_error without wgmma.
template <class T>
void grouped_gemm_wgmma(GroupedInputs<T> inputs, __nv_bfloat16* c, GroupedShape shape,
                        cudaStream_t stream);

/// expected[i] = element first + i of the flattened C for i < count, summed in double precision.
/// Also throws std::invalid_argument if first + count > rows*n.
template <class T>
void grouped_gemm_reference(GroupedInputs<T> inputs, double* expected, GroupedShape shape,
                            std::size_t first, std::size_t count, cudaStream_t stream);

}  // namespace warpgauge::kernels
