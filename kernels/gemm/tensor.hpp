// SPDX-License-Identifier: Apache-2.0
// C[m,n] = A[m,k] * B[k,n] on tensor cores, warp by warp: row-major, contiguous, on the device.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {

/// Bytes of shared memory that a block of each of these rungs takes, for elements of 16 or 32 bits.
/// They exceed the 48 KiB that every device has and the 99 KiB of many; compute capabilities 8.0,
/// 9.0 and 10.0 have enough.
inline constexpr std::size_t gemm_wmma_staged_shared_bytes = 156'672;
inline constexpr std::size_t gemm_mma_sync_shared_bytes = 147'456;

// The launchers below are a ladder, from the plain use of tensor cores to their best use without
// Hopper's own instructions. Sums are in fp32; each result is rounded once to its type. a has m*k
// elements, b k*n, c m*n; c overlaps neither input. Each is aligned to 16 bytes. Any shape is
// allowed, but if k or n elements are not a multiple of 16 bytes, elements are copied one by one,
// several times slower. Asynchronous on stream; can be captured into a graph. m = 0 or n = 0 does
// nothing. Throw std::invalid_argument for k = 0, a null or misaligned pointer, matrices whose
// bytes 63 bits cannot count, or more than 2^31 - 1 output tiles of the stated size;
// std::runtime_error for a device with too little shared memory per block, and for a refused
// launch.

/// nvcuda::wmma as its documentation shows it: a block copies a tile of A and of B to shared
/// memory, waits, multiplies, waits. T: __half or __nv_bfloat16. Tiles of 64 x 64.
template <class T>
void gemm_wmma(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// The same instructions with larger tiles, copied asynchronously and several stages ahead. T:
/// __half or __nv_bfloat16. Tiles of 128 x 256.
template <class T>
void gemm_wmma_staged(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// mma.sync m16n8k16 fed by ldmatrix from swizzled tiles. T: __half or __nv_bfloat16. Tiles of
/// 128 x 256.
template <class T>
void gemm_mma_sync(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// mma.sync m16n8k8 of floats. Each is first rounded to the nearest TF32 (11 bits of significand;
/// ties go to even from compute capability 9.0 on, away from zero before). Products and sums are as
/// above; results stay floats. Tiles of 128 x 256.
void gemm_mma_sync_tf32(const float* a, const float* b, float* c, GemmShape shape,
                        cudaStream_t stream);

}  // namespace warpgauge::kernels
