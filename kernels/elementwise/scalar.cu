// SPDX-License-Identifier: Apache-2.0
// One element per thread. Bound by the loads in flight, not by memory: the 2048 threads of an SM
// have at most 8 KiB of floats in flight, a quarter of what 16-byte loads have, and less while
// blocks come and go (2.7 of an H200's 4.3 TB/s; 1.5 with 16-bit elements).
#include "kernels/elementwise/launchers.hpp"
#include "kernels/launch_elements.cuh"

namespace warpgauge::kernels {

template <class Op, class In, class Out>
__global__ __launch_bounds__(block_threads) void transform_scalar_kernel(const In* __restrict__ in,
                                                                         Out* __restrict__ out,
                                                                         std::size_t n, Op op) {
  const std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < n) {
    out[i] = static_cast<Out>(op(static_cast<float>(in[i])));
  }
}

template <class Op, class In, class Out>
void transform_scalar(const In* in, Out* out, std::size_t n, cudaStream_t stream, Op op) {
  launch_elements({"transform_scalar", n, block_threads}, {{"in", in}, {"out", out}}, stream,
                  transform_scalar_kernel<Op, In, Out>, in, out, n, op);
}

auto scalar_instances() {
  return instances_of_all([]<class Op, class In, class Out>(Instance<Op, In, Out>) {
    return &transform_scalar<Op, In, Out>;
  });
}

}  // namespace warpgauge::kernels
