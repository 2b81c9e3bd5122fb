// SPDX-License-Identifier: Apache-2.0
// Atomic additions in shared memory, which add a warp's equal keys at once, and one per block and
// bin in device memory. Bound by shared-memory atomics, or for equal keys by device memory.
#include "kernels/launch_elements.cuh"
#include "kernels/reduce/histogram_arguments.hpp"

namespace warpgauge::kernels {

/// `vectors` int4 loads in flight per thread; `copies` of the bins, so that fewer warps share one.
template <unsigned threads_, unsigned vectors_, unsigned copies_, unsigned blocks_per_sm_>
struct HistogramShape {
  static constexpr unsigned threads = threads_;
  static constexpr unsigned vectors = vectors_;
  static constexpr unsigned copies = copies_;
  static constexpr unsigned blocks_per_sm = blocks_per_sm_;
};

template <class Shape>
__global__ __launch_bounds__(Shape::threads) void histogram_shared_kernel(
    const std::int32_t* __restrict__ keys, std::int32_t* __restrict__ bins, std::size_t n,
    BinOf bin_of) {
  // One word more than there are bins, so that copies of a bin lie in different banks.
  __shared__ unsigned counts[Shape::copies][histogram_bins + 1];
  for (unsigned i = threadIdx.x; i < Shape::copies * (histogram_bins + 1); i += Shape::threads) {
    counts[i / (histogram_bins + 1)][i % (histogram_bins + 1)] = 0;
  }
  __syncthreads();
  unsigned* const mine = counts[threadIdx.x / 32 % Shape::copies];
  const auto count = [&](std::int32_t key) { atomicAdd(mine + bin_of(key), 1U); };
  constexpr unsigned per_vector = sizeof(int4) / sizeof(std::int32_t);
  constexpr std::size_t run = std::size_t{Shape::threads} * Shape::vectors;
  const std::size_t vectors = n / per_vector;
  for (std::size_t first = blockIdx.x * run; first < vectors; first += gridDim.x * run) {
    int4 loaded[Shape::vectors];
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      const std::size_t i = first + threadIdx.x + j * Shape::threads;
      if (i < vectors) {
        loaded[j] = __ldcs(reinterpret_cast<const int4*>(keys) + i);
      }
    }
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      if (first + threadIdx.x + j * Shape::threads < vectors) {
        count(loaded[j].x);
        count(loaded[j].y);
        count(loaded[j].z);
        count(loaded[j].w);
      }
    }
  }
  if (blockIdx.x == 0 && threadIdx.x < n % per_vector) {
    count(keys[vectors * per_vector + threadIdx.x]);
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < histogram_bins; bin += Shape::threads) {
    unsigned sum = 0;
#pragma unroll
    for (unsigned copy = 0; copy < Shape::copies; ++copy) {
      sum += counts[copy][bin];
    }
    if (sum != 0) {
      atomicAdd(bins + bin, static_cast<std::int32_t>(sum));
    }
  }
}

void histogram_shared(const std::int32_t* keys, std::int32_t* bins, std::size_t n, BinOf bin_of,
                      cudaStream_t stream) {
  using Shape = HistogramShape<1024, 4, 8, 1>;
  require_histogram("histogram_shared", n, {"keys", keys, sizeof(int4)}, {"bins", bins});
  clear_bins(bins, stream);
  launch_elements({"histogram_shared", n, Shape::threads, Shape::vectors * 4, Shape::blocks_per_sm},
                  {}, stream, histogram_shared_kernel<Shape>, keys, bins, n, bin_of);
}

}  // namespace warpgauge::kernels
