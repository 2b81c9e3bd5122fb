// SPDX-License-Identifier: Apache-2.0
// Any row, in a block that reads it twice: for mean and variance together, and for the results. The
// second read comes from the L2 unless rows are huge. Bound by device memory and the L2.
#include <algorithm>

#include <warpgauge/cuda/check.hpp>
#include "kernels/arguments.hpp"
#include "kernels/reduce/block_tree.cuh"
#include "kernels/reduce/rows.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned welford_threads = 512;

/// Of the elements seen: their number, mean, and sum of squared distances from the mean.
struct Moments {
  float count = 0;
  float mean = 0;
  float squares = 0;
};

__device__ inline Moments combine_moments(Moments a, Moments b) {
  const float count = a.count + b.count;
  const float fraction = count > 0 ? b.count / count : 0.0F;
  const float apart = b.mean - a.mean;
  return {count, a.mean + apart * fraction,
          a.squares + b.squares + apart * apart * a.count * fraction};
}

template <class T>
__global__ __launch_bounds__(welford_threads) void layer_norm_online_kernel(
    const T* __restrict__ in, const T* __restrict__ gamma, const T* __restrict__ beta,
    T* __restrict__ out, std::size_t rows, std::size_t columns, float epsilon) {
  __shared__ Moments of_thread[welford_threads];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* const from = in + row * columns;
    T* const to = out + row * columns;
    Moments seen;
    for (std::size_t i = threadIdx.x; i < columns; i += welford_threads) {
      const auto x = static_cast<float>(from[i]);
      seen.count += 1.0F;
      const float apart = x - seen.mean;
      seen.mean += apart / seen.count;
      seen.squares += apart * (x - seen.mean);
    }
    combine_as_tree(of_thread, seen, combine_moments);
    __syncthreads();
    const Moments all = of_thread[0];
    const float scale = rsqrtf(all.squares / all.count + epsilon);
    for (std::size_t i = threadIdx.x; i < columns; i += welford_threads) {
      const float x = (static_cast<float>(from[i]) - all.mean) * scale;
      to[i] = static_cast<T>(x * static_cast<float>(gamma[i]) + static_cast<float>(beta[i]));
    }
    __syncthreads();  // the next row overwrites of_thread
  }
}

template <class T>
void layer_norm_online(const T* in, const T* gamma, const T* beta, T* out, RowsShape shape,
                       float epsilon, cudaStream_t stream) {
  if (shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_countable("layer_norm_online", shape.rows, shape.columns, sizeof(T));
  // A thread counts its elements in a float.
  require_at_most("layer_norm_online", shape.columns, std::size_t{welford_threads} << 24);
  require_arrays("layer_norm_online", {{"in", in}, {"gamma", gamma}, {"beta", beta}, {"out", out}});
  const auto blocks = static_cast<unsigned>(std::min(shape.rows, max_grid_blocks));
  layer_norm_online_kernel<<<blocks, welford_threads, 0, stream>>>(in, gamma, beta, out, shape.rows,
                                                                   shape.columns, epsilon);
  WARPGAUGE_CHECK(cudaGetLastError());
}

template void layer_norm_online(const float*, const float*, const float*, float*, RowsShape, float,
                                cudaStream_t);
template void layer_norm_online(const __nv_bfloat16*, const __nv_bfloat16*, const __nv_bfloat16*,
                                __nv_bfloat16*, RowsShape, float, cudaStream_t);

}  // namespace warpgauge::kernels
