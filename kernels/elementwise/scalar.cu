// SPDX-License-Identifier: Apache-2.0
// One element a thread. Bound by the loads in flight, not by memory: an SM's 2048 threads wait for
// 8 KiB of floats at most, a quarter of what they wait for with 16-byte loads, and for less while
// blocks come and go (2.7 of an H200's 4.3 TB/s; 1.5 with elements of 16 bits).
#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/elementwise/elementwise.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned block_threads = 256;  // 8 blocks fill an SM's 2048 threads

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
  if (n == 0) {
    return;
  }
  require_pointer("transform_scalar", "in", in, alignof(In));
  require_pointer("transform_scalar", "out", out, alignof(Out));
  const unsigned blocks = blocks_for("transform_scalar", n, block_threads);
  transform_scalar_kernel<<<blocks, block_threads, 0, stream>>>(in, out, n, op);
  WARPGAUGE_CHECK(cudaGetLastError());
}

using Half = __half;
using Bf16 = __nv_bfloat16;

template void transform_scalar(const float*, float*, std::size_t, cudaStream_t, Copy);
template void transform_scalar(const float*, float*, std::size_t, cudaStream_t, Scale);
template void transform_scalar(const float*, float*, std::size_t, cudaStream_t, Square);
template void transform_scalar(const float*, float*, std::size_t, cudaStream_t, Pow2);
template void transform_scalar(const float*, float*, std::size_t, cudaStream_t, Affine);
template void transform_scalar(const float*, float*, std::size_t, cudaStream_t, Chain);
template void transform_scalar(const float*, float*, std::size_t, cudaStream_t, Gelu);
template void transform_scalar(const float*, float*, std::size_t, cudaStream_t, GeluTanh);
template void transform_scalar(const Half*, Half*, std::size_t, cudaStream_t, Copy);
template void transform_scalar(const Half*, Half*, std::size_t, cudaStream_t, Scale);
template void transform_scalar(const Half*, Half*, std::size_t, cudaStream_t, Square);
template void transform_scalar(const Half*, Half*, std::size_t, cudaStream_t, Pow2);
template void transform_scalar(const Half*, Half*, std::size_t, cudaStream_t, Affine);
template void transform_scalar(const Half*, Half*, std::size_t, cudaStream_t, Chain);
template void transform_scalar(const Half*, Half*, std::size_t, cudaStream_t, Gelu);
template void transform_scalar(const Half*, Half*, std::size_t, cudaStream_t, GeluTanh);
template void transform_scalar(const Bf16*, Bf16*, std::size_t, cudaStream_t, Copy);
template void transform_scalar(const Bf16*, Bf16*, std::size_t, cudaStream_t, Scale);
template void transform_scalar(const Bf16*, Bf16*, std::size_t, cudaStream_t, Square);
template void transform_scalar(const Bf16*, Bf16*, std::size_t, cudaStream_t, Pow2);
template void transform_scalar(const Bf16*, Bf16*, std::size_t, cudaStream_t, Affine);
template void transform_scalar(const Bf16*, Bf16*, std::size_t, cudaStream_t, Chain);
template void transform_scalar(const Bf16*, Bf16*, std::size_t, cudaStream_t, Gelu);
template void transform_scalar(const Bf16*, Bf16*, std::size_t, cudaStream_t, GeluTanh);

}  // namespace warpgauge::kernels
