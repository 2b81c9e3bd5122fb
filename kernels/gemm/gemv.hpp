// SPDX-License-Identifier: Apache-2.0
// C[1,n] = A[1,k] * B[k,n], row-major and contiguous: a GEMM of one row, as decoding has them; 2 k
// n flops.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstddef>

namespace warpgauge::kernels {

/// T: __half or __nv_bfloat16; sums in fp32, rounded to T once. a has k elements, b k*n, c n; c
/// overlaps neither input; b begins at a multiple of 16 bytes. Where n is no multiple of 8, rows
/// begin between 16 bytes and are read element by element. Asynchronous on stream, can be captured.
/// n = 0 does nothing. Throws std::invalid_argument for k = 0, a null or misaligned pointer, a
/// matrix of more bytes than 64 bits count, or n > 32 * (2^31 - 1); std::runtime_error for a
/// refused launch.
template <class T>
void gemv(const T* a, const T* b, T* c, std::size_t n, std::size_t k, cudaStream_t stream);

}  // namespace warpgauge::kernels
