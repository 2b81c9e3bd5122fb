// SPDX-License-Identifier: Apache-2.0
// Any row, in a block that reads it twice: for the largest element and the sum together, and for
// the results. The second read comes from the L2 unless rows are huge. Bound by device memory and
// the L2.
#include <algorithm>

#include <warpgauge/cuda/check.hpp>
#include "kernels/arguments.hpp"
#include "kernels/reduce/block_tree.cuh"
#include "kernels/reduce/rows.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned online_threads = 512;

/// The largest element so far, and the sum of exp(x - largest) over the elements seen.
struct Normaliser {
  float largest = -INFINITY;
  float sum = 0;
};

__device__ inline Normaliser combine_normalisers(Normaliser a, Normaliser b) {
  const float largest = fmaxf(a.largest, b.largest);
  // If only -infinity or nothing was seen, there is no difference to take.
  const auto scaled = [&](Normaliser n) {
    return n.largest == largest ? n.sum : n.sum * __expf(n.largest - largest);
  };
  return {largest, scaled(a) + scaled(b)};
}

template <class T>
__global__ __launch_bounds__(online_threads) void softmax_online_kernel(const T* __restrict__ in,
                                                                        T* __restrict__ out,
                                                                        std::size_t rows,
                                                                        std::size_t columns) {
  __shared__ Normaliser of_thread[online_threads];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* const from = in + row * columns;
    T* const to = out + row * columns;
    Normaliser seen;
    for (std::size_t i = threadIdx.x; i < columns; i += online_threads) {
      const auto x = static_cast<float>(from[i]);
      if (x > seen.largest) {
        // Its own power is 1, except for +infinity, which has no difference from itself.
        seen = {x, seen.sum * __expf(seen.largest - x) + __expf(x - x)};
      } else if (x != -INFINITY) {
        seen.sum += __expf(x - seen.largest);
      }
    }
    combine_as_tree(of_thread, seen, combine_normalisers);
    __syncthreads();
    const Normaliser all = of_thread[0];
    const float scale = 1.0F / all.sum;
    for (std::size_t i = threadIdx.x; i < columns; i += online_threads) {
      to[i] = static_cast<T>(__expf(static_cast<float>(from[i]) - all.largest) * scale);
    }
    __syncthreads();  // the next row overwrites of_thread
  }
}

template <class T>
void softmax_online(const T* in, T* out, RowsShape shape, cudaStream_t stream) {
  if (shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_countable("softmax_online", shape.rows, shape.columns, sizeof(T));
  require_arrays("softmax_online", {{"in", in}, {"out", out}});
  const auto blocks = static_cast<unsigned>(std::min(shape.rows, max_grid_blocks));
  softmax_online_kernel<<<blocks, online_threads, 0, stream>>>(in, out, shape.rows, shape.columns);
  WARPGAUGE_CHECK(cudaGetLastError());
}

template void softmax_online(const float*, float*, RowsShape, cudaStream_t);
template void softmax_online(const __nv_bfloat16*, __nv_bfloat16*, RowsShape, cudaStream_t);

}  // namespace warpgauge::kernels
