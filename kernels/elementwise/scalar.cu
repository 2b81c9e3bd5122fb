// SPDX-License-Identifier: Apache-2.0
// One element a thread. Bound by the loads in flight, not by memory: an SM's 2048 threads wait for
// 8 KiB of floats at most, a quarter of what they wait for with 16-byte loads, and for less while
// blocks come and go (2.7 of an H200's 4.3 TB/s; 1.5 with elements of 16 bits).
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
