// SPDX-License-Identifier: Apache-2.0
// C[m,n] = A[m,k] * B[k,n] with the tensor cores of data-centre Blackwell, whose sums lie in tensor
// memory. Compiled, but never run so far: no result or time of it has been seen.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {

/// Whether the current device has tcgen05 as it is compiled here: compute capability 10.0 does.
/// Throws std::runtime_error when CUDA fails.
bool has_tcgen05();

/// Two blocks make a tile of 256 x 256 together. T, the layout, the conditions and the exceptions
/// are those of gemm_wgmma (kernels/gemm/hopper/hopper.hpp), but of a device without tcgen05. Terms
/// are added in stages of 64, in order. At most 2^30 - 1 tiles.
template <class T>
void gemm_tcgen05(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

}  // namespace warpgauge::kernels
