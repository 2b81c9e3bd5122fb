// SPDX-License-Identifier: Apache-2.0
// Tensor cores as nvcuda::wmma's documentation shows them: copy a tile of A and of B to shared
// memory, wait, multiply, wait. Bound by those waits: tensor cores and memory are never busy
// together.
#include <mma.h>

#include "kernels/gemm/launch.cuh"
#include "kernels/gemm/tensor.hpp"

namespace warpgauge::kernels {

// The edge of a block's tile of C, the terms of a tile, and the edge of the square of C that each
// warp computes with 16 x 16 fragments.
inline constexpr unsigned wmma_tile = 64;
inline constexpr unsigned wmma_depth = 32;
inline constexpr unsigned wmma_warp = 32;
inline constexpr unsigned wmma_fragment = 16;
inline constexpr unsigned wmma_threads = wmma_tile / wmma_warp * (wmma_tile / wmma_warp) * 32;

template <class T>
__global__ __launch_bounds__(wmma_threads) void gemm_wmma_kernel(const T* __restrict__ a,
                                                                 const T* __restrict__ b,
                                                                 T* __restrict__ c, GemmShape shape,
                                                                 std::size_t tile_columns) {
  using namespace nvcuda;
  __shared__ __align__(32) T a_tile[wmma_tile][wmma_depth];
  __shared__ __align__(32) T b_tile[wmma_depth][wmma_tile];
  __shared__ __align__(32) float c_tile[wmma_tile][wmma_tile];
  constexpr unsigned fragments = wmma_warp / wmma_fragment;
  const std::size_t first_row = blockIdx.x / tile_columns * wmma_tile;
  const std::size_t first_column = blockIdx.x % tile_columns * wmma_tile;
  const unsigned warp = threadIdx.x / 32;
  const unsigned warp_row = warp / (wmma_tile / wmma_warp) * wmma_warp;
  const unsigned warp_column = warp % (wmma_tile / wmma_warp) * wmma_warp;

  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[fragments][fragments];
  for (auto& row : sums) {
    for (auto& sum : row) {
      wmma::fill_fragment(sum, 0.0F);
    }
  }
  for (std::size_t first = 0; first < shape.k; first += wmma_depth) {
    // Zeros past the edge add nothing to the sums.
    for (unsigned i = threadIdx.x; i < wmma_tile * wmma_depth; i += wmma_threads) {
      const std::size_t row = first_row + i / wmma_depth;
      const std::size_t column = first + i % wmma_depth;
      a_tile[i / wmma_depth][i % wmma_depth] =
          row < shape.m && column < shape.k ? a[row * shape.k + column] : T(0.0F);
    }
    for (unsigned i = threadIdx.x; i < wmma_depth * wmma_tile; i += wmma_threads) {
      const std::size_t row = first + i / wmma_tile;
      const std::size_t column = first_column + i % wmma_tile;
      b_tile[i / wmma_tile][i % wmma_tile] =
          row < shape.k && column < shape.n ? b[row * shape.n + column] : T(0.0F);
    }
    __syncthreads();
#pragma unroll
    for (unsigned step = 0; step < wmma_depth; step += wmma_fragment) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a_fragments[fragments];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> b_fragments[fragments];
#pragma unroll
      for (unsigned i = 0; i < fragments; ++i) {
        wmma::load_matrix_sync(a_fragments[i], &a_tile[warp_row + i * wmma_fragment][step],
                               wmma_depth);
        wmma::load_matrix_sync(b_fragments[i], &b_tile[step][warp_column + i * wmma_fragment],
                               wmma_tile);
      }
#pragma unroll
      for (unsigned i = 0; i < fragments; ++i) {
#pragma unroll
        for (unsigned j = 0; j < fragments; ++j) {
          wmma::mma_sync(sums[i][j], a_fragments[i], b_fragments[j], sums[i][j]);
        }
      }
    }
    __syncthreads();  // the next round overwrites the tiles
  }

  // Which lane holds which element is not documented, so results go through shared memory.
#pragma unroll
  for (unsigned i = 0; i < fragments; ++i) {
#pragma unroll
    for (unsigned j = 0; j < fragments; ++j) {
      wmma::store_matrix_sync(
          &c_tile[warp_row + i * wmma_fragment][warp_column + j * wmma_fragment], sums[i][j],
          wmma_tile, wmma::mem_row_major);
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < wmma_tile * wmma_tile; i += wmma_threads) {
    const std::size_t row = first_row + i / wmma_tile;
    const std::size_t column = first_column + i % wmma_tile;
    if (row < shape.m && column < shape.n) {
      c[row * shape.n + column] = T(c_tile[i / wmma_tile][i % wmma_tile]);
    }
  }
}

template <class T>
void gemm_wmma(const T* a, const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  launch_gemm({"gemm_wmma", wmma_tile, wmma_tile, wmma_threads, chunk_bytes}, gemm_wmma_kernel<T>,
              a, b, c, shape, stream);
}

template void gemm_wmma(const __half*, const __half*, __half*, GemmShape, cudaStream_t);
template void gemm_wmma(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*, GemmShape,
                        cudaStream_t);

}  // namespace warpgauge::kernels
