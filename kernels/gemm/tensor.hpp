// SPDX-License-Identifier: Apache-2.0
// C[m,n] = A[m,k] * B[k,n] on tensor cores, by warps: all row-major, contiguous, on the device.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {

/// Bytes of shared memory that a block of the rungs of this name takes, of 16 or 32 bits, more than
/// the 48 KiB that every device has and the 99 KiB of many: compute capabilities 8.0, 9.0 and 10.0
/// have enough.
inline constexpr std::size_t gemm_wmma_staged_shared_bytes = 156'672;
inline constexpr std::size_t gemm_mma_sync_shared_bytes = 147'456;

// All launchers below, the ladder from the plain use of tensor cores to their best use without
// Hopper's own instructions: sums in fp32, each result rounded once to its type. a has m*k
// elements, b k*n, c m*n; c overlaps neither input. Each begins at a multiple of 16 bytes. Any
// shape is right; where k or n is no multiple of 16 bytes of elements, rows begin between those,
// and elements are copied one by one, several times slower. Asynchronous on stream, can be captured
// into a graph. m = 0 or n = 0 does nothing. Throw std::invalid_argument for k = 0, a null or
// misaligned pointer, matrices of more bytes than 63 bits count, or more than 2^31 - 1 output tiles
// of the size named; std::runtime_error for a device that gives a block less shared memory than it
// takes, and for a refused launch.

/// nvcuda::wmma as its documentation shows it: a block copies a tile of A and of B to shared
/// memory, waits, multiplies, waits. T: __half or __nv_bfloat16. Tiles of 64 x 64.
template <class T>
void gemm_wmma(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// The same instructions with larger tiles, which are copied asynchronously and stages ahead.
/// T: __half or __nv_bfloat16. Tiles of 128 x 256.
template <class T>
void gemm_wmma_staged(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// mma.sync m16n8k16 fed by ldmatrix from swizzled tiles. T: __half or __nv_bfloat16. Tiles of
/// 128 x 256.
template <class T>
void gemm_mma_sync(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// mma.sync m16n8k8 of floats, each rounded on the way to the nearest TF32 (11 bits of significand;
/// of ties, to even from compute capability 9.0 on, away from zero before); products and sums as
/// above, results stay floats. Tiles of 128 x 256.
void gemm_mma_sync_tf32(const float* a, const float* b, float* c, GemmShape shape,
                        cudaStream_t stream);

}  // namespace warpgauge::kernels
