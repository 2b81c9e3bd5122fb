// SPDX-License-Identifier: Apache-2.0
// One element per thread and iteration, in as many threads as fit the GPU. Bound by the loads in
// flight. They are no more than with one element per thread, but no blocks come and go (3.0 of an
// H200's 4.3 TB/s with 8 blocks per SM, as with 32; 2.1 with 4).
#include "kernels/elementwise/launchers.hpp"
#include "kernels/launch_elements.cuh"

namespace warpgauge::kernels {

template <class Op, class In, class Out>
__global__ __launch_bounds__(block_threads) void transform_grid_stride_kernel(
    const In* __restrict__ in, Out* __restrict__ out, std::size_t n, Op op) {
  const RoundedTo<Op, Out> rounded{op};
  const std::size_t stride = std::size_t{gridDim.x} * block_threads;
  for (std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x; i < n; i += stride) {
    out[i] = rounded(in[i]);
  }
}

template <class Op, class In, class Out>
void transform_grid_stride(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op) {
  launch_elements({"transform_grid_stride", n, block_threads, 1, blocks_per_sm},
                  {{"in", in}, {"out", out}}, stream, transform_grid_stride_kernel<Op, In, Out>, in,
                  out, n, op);
}

auto grid_stride_instances() {
  return instances_of_all([]<class Op, class In, class Out>(Instance<Op, In, Out>) {
    return &transform_grid_stride<Op, In, Out>;
  });
}

}  // namespace warpgauge::kernels
