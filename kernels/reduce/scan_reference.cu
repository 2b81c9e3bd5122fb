// SPDX-License-Identifier: Apache-2.0
// One block, run by run: each thread sums a few neighbours, the block scans these sums, and the
// total is carried to the next run. Bound by the load rate of one SM.
#include <limits>

#include <warpgauge/cuda/check.hpp>
#include "kernels/reduce/scan.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned scan_reference_threads = 1024;
inline constexpr unsigned scan_reference_items = 8;

__global__ __launch_bounds__(scan_reference_threads) void scan_reference_kernel(
    const std::int32_t* __restrict__ in, double* __restrict__ expected, std::size_t first,
    std::size_t count) {
  __shared__ std::uint32_t sums[scan_reference_threads];
  constexpr unsigned run = scan_reference_threads * scan_reference_items;
  const std::size_t end = first + count;
  std::uint32_t carried = 0;
  for (std::size_t start = 0; start < end; start += run) {
    const std::size_t mine = start + std::size_t{threadIdx.x} * scan_reference_items;
    std::uint32_t scanned[scan_reference_items];
    std::uint32_t sum = 0;
#pragma unroll
    for (unsigned j = 0; j < scan_reference_items; ++j) {
      sum += mine + j < end ? static_cast<std::uint32_t>(in[mine + j]) : 0U;
      scanned[j] = sum;
    }
    sums[threadIdx.x] = sum;
    // Hillis and Steele: after the pass over distance d, each holds the sum of up to 2d neighbours.
    for (unsigned distance = 1; distance < scan_reference_threads; distance *= 2) {
      __syncthreads();
      const std::uint32_t before = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0U;
      __syncthreads();
      sums[threadIdx.x] += before;
    }
    __syncthreads();
    const std::uint32_t before = carried + sums[threadIdx.x] - sum;
#pragma unroll
    for (unsigned j = 0; j < scan_reference_items; ++j) {
      if (mine + j >= first && mine + j < end) {
        expected[mine + j - first] =
            static_cast<double>(static_cast<std::int32_t>(before + scanned[j]));
      }
    }
    carried += sums[scan_reference_threads - 1];
    __syncthreads();  // the next run overwrites sums
  }
}

void scan_reference(const std::int32_t* in, double* expected, std::size_t first, std::size_t count,
                    cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / sizeof(double);
  require_at_most("scan_reference", first, most);
  require_at_most("scan_reference", count, most - first);
  require_arrays("scan_reference", {{"in", in}, {"expected", expected}});
  scan_reference_kernel<<<1, scan_reference_threads, 0, stream>>>(in, expected, first, count);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
