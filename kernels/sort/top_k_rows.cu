// SPDX-License-Identifier: Apache-2.0
// A block a row. Each digit narrows the range of the k-th largest key, at the price of one more
// reading of the row, until what is left fits in shared memory. Random elements need one or two
// digits, and so two or three readings: bound by device memory and, while the rows in work fit in
// it, the L2.
#include <algorithm>

#include <warpgauge/cuda/check.hpp>
#include "kernels/sort/select.cuh"

namespace warpgauge::kernels {

__global__ __launch_bounds__(select_threads) void top_k_rows_kernel(
    const float* __restrict__ in, float* __restrict__ values, std::int32_t* __restrict__ columns,
    std::size_t rows, RowKeys keys, unsigned k) {
  extern __shared__ SelectKey candidates[];
  __shared__ SelectStorage storage;
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* const x = in + row * keys.columns;
    // The first elements up to a 16-byte boundary, then vectors, then the rest.
    const std::size_t head =
        min(keys.columns, std::size_t{(16 - reinterpret_cast<std::uintptr_t>(x) % 16) % 16 / 4});
    const std::size_t vectors = (keys.columns - head) / 4;
    const auto for_each_key = [&](const auto& use) {
      for (std::size_t i = threadIdx.x; i < head; i += select_threads) {
        use(keys.key(x[i], i));
      }
#pragma unroll 4
      for (std::size_t v = threadIdx.x; v < vectors; v += select_threads) {
        const float4 four = reinterpret_cast<const float4*>(x + head)[v];
        const std::size_t i = head + 4 * v;
        use(keys.key(four.x, i));
        use(keys.key(four.y, i + 1));
        use(keys.key(four.z, i + 2));
        use(keys.key(four.w, i + 3));
      }
      for (std::size_t i = head + 4 * vectors + threadIdx.x; i < keys.columns;
           i += select_threads) {
        use(keys.key(x[i], i));
      }
    };
    Threshold threshold{0, keys.bits(), 0, static_cast<unsigned>(keys.columns)};
    while (threshold.above + threshold.inside > most_candidates) {
      clear_bins(storage);
      __syncthreads();
      for_each_key([&](SelectKey key) {
        if (threshold.has(key)) {
          atomicAdd(&storage.bins[threshold.digit(key)], 1U);
        }
      });
      __syncthreads();
      threshold = next_threshold(storage.bins, threshold, k, storage);
    }
    if (threadIdx.x == 0) {
      storage.count = 0;
    }
    __syncthreads();
    for_each_key([&](SelectKey key) {
      if (threshold.reaches(key)) {
        candidates[atomicAdd(&storage.count, 1U)] = key;
      }
    });
    __syncthreads();
    finish_selection(candidates, threshold.above + threshold.inside, threshold, k, keys,
                     values + row * k, columns + row * k, storage);
    __syncthreads();  // the next row overwrites what is still read
  }
}

void top_k_rows(const float* in, float* values, std::int32_t* columns, RowsShape shape, unsigned k,
                cudaStream_t stream) {
  if (shape.rows == 0) {
    return;
  }
  require_selectable("top_k_rows", shape.columns, k);
  require_countable("top_k_rows", shape.rows, shape.columns, sizeof(float));
  require_arrays("top_k_rows", {{"in", in}, {"values", values}, {"columns", columns}});
  constexpr unsigned bytes = most_candidates * sizeof(SelectKey);
  WARPGAUGE_CHECK(
      cudaFuncSetAttribute(top_k_rows_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  top_k_rows_kernel<<<static_cast<unsigned>(std::min(shape.rows, max_grid_blocks)), select_threads,
                      bytes, stream>>>(in, values, columns, shape.rows, row_keys(shape.columns), k);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
