// SPDX-License-Identifier: Apache-2.0
// C[m,n] = A[m,k] * B[k,n] by Hopper's own instructions, wgmma and TMA: all row-major, contiguous,
// on the device. (BLAS calls this layout NN. wgmma reads B, whose rows are contiguous along n, with
// its transposition of 16-bit types.) Rung by rung: each changes one thing of the one before.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <array>

#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {

/// Whether the current device has these instructions: of compute capability 9.0, and no other.
/// Throws std::runtime_error when CUDA fails.
bool has_wgmma();

// All launchers below: T is __half or __nv_bfloat16; sums in fp32, each result rounded once to T. a
// has m*k elements, b k*n, c m*n; c overlaps neither input. Each begins at a multiple of 16 bytes.
// Any m; k and n are multiples of 8, for TMA reads and writes rows that begin at multiples of 16
// bytes. Asynchronous on stream, can be captured into a graph. m = 0 or n = 0 does nothing. Throw
// std::invalid_argument for k = 0, another k or n, a null or misaligned pointer, an extent of more
// than 2^31 - 1025, or more than 2^31 - 1 output tiles of the size named (two high where a cluster
// makes them); std::runtime_error on a device without wgmma, and for a refused launch.

/// TMA loads, a warpgroup multiplies, in turns. Tiles of 64 x 128.
template <class T>
void gemm_wgmma(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// Tiles of 128 x 128.
template <class T>
void gemm_wgmma_large_tile(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// A producer and a consumer, and a ring of stages between them. Tiles of 128 x 128.
template <class T>
void gemm_wgmma_producer(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// Two consumers. Tiles of 128 x 256.
template <class T>
void gemm_wgmma_two_consumers(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// Blocks that stay. Tiles of 128 x 256.
template <class T>
void gemm_wgmma_persistent(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// Clusters of two blocks that share B. Tiles of 256 x 256, as all below.
template <class T>
void gemm_wgmma_multicast(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// C stored by TMA.
template <class T>
void gemm_wgmma_tma_store(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// Tiles in an order for the L2.
template <class T>
void gemm_wgmma_l2_order(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// stmatrix.
template <class T>
void gemm_wgmma_stmatrix(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// The alternative to the rung before: two consumers with a tile each, which take turns. Tiles of
/// 256 x 128.
template <class T>
void gemm_wgmma_ping_pong(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// For few tiles: clusters that split the terms of a tile. Tiles of 64 x 128.
template <class T>
void gemm_wgmma_split_k(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);

/// The last rung with both inputs contiguous along k ("TN"), which is all that wgmma takes of these
/// types: B is stored transposed, row-major [n,k]. In, Out: float and float, multiplied as TF32 cut
/// off to 11 bits; __nv_fp8_e4m3 and __nv_bfloat16, summed by the tensor cores alone, which keep
/// about 14 bits (cuBLASLt's faster and less exact mode does so too). k is a multiple of 16 bytes'
/// elements of In, n of Out; else as above. Tiles of 256 x 256.
template <class In, class Out>
void gemm_wgmma_k_major(const In* a, const In* b_transposed, Out* c, GemmShape shape,
                        cudaStream_t stream);

/// A rung: its launcher's name, and its launcher.
template <class T>
struct WgmmaRung {
  const char* name;
  void (*launch)(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream);
};

/// The ladder, slowest first; then the alternative to its last rung, and the one for few tiles.
template <class T>
inline constexpr std::array<WgmmaRung<T>, 11> wgmma_ladder{{
    {"gemm_wgmma", gemm_wgmma},
    {"gemm_wgmma_large_tile", gemm_wgmma_large_tile},
    {"gemm_wgmma_producer", gemm_wgmma_producer},
    {"gemm_wgmma_two_consumers", gemm_wgmma_two_consumers},
    {"gemm_wgmma_persistent", gemm_wgmma_persistent},
    {"gemm_wgmma_multicast", gemm_wgmma_multicast},
    {"gemm_wgmma_tma_store", gemm_wgmma_tma_store},
    {"gemm_wgmma_l2_order", gemm_wgmma_l2_order},
    {"gemm_wgmma_stmatrix", gemm_wgmma_stmatrix},
    {"gemm_wgmma_ping_pong", gemm_wgmma_ping_pong},
    {"gemm_wgmma_split_k", gemm_wgmma_split_k},
}};

}  // namespace warpgauge::kernels
