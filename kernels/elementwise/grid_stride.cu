// SPDX-License-Identifier: Apache-2.0
// One element a thread and iteration, in as many threads as fit the GPU. Bound by the loads in
// flight: no more of them than with one element a thread, but no blocks come and go (3.0 of an
// H200's 4.3 TB/s, with 8 blocks an SM as with 32; 2.1 with 4).
#include <algorithm>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include <warpgauge/cuda/current_device.hpp>
#include "kernels/elementwise/elementwise.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned block_threads = 256;
inline constexpr unsigned blocks_per_sm = 8;  // 2048 threads, all that an SM holds

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
  if (n == 0) {
    return;
  }
  require_pointer("transform_grid_stride", "in", in, alignof(In));
  require_pointer("transform_grid_stride", "out", out, alignof(Out));
  const std::size_t enough = n / block_threads + (n % block_threads != 0 ? 1 : 0);
  const std::size_t at_once = std::size_t{sm_count()} * blocks_per_sm;
  const auto blocks = static_cast<unsigned>(std::min(enough, at_once));
  transform_grid_stride_kernel<<<blocks, block_threads, 0, stream>>>(in, out, n, op);
  WARPGAUGE_CHECK(cudaGetLastError());
}

using Half = __half;
using Bf16 = __nv_bfloat16;

template void transform_grid_stride(const float*, float*, std::size_t, cudaStream_t, Copy);
template void transform_grid_stride(const float*, float*, std::size_t, cudaStream_t, Scale);
template void transform_grid_stride(const float*, float*, std::size_t, cudaStream_t, Square);
template void transform_grid_stride(const float*, float*, std::size_t, cudaStream_t, Pow2);
template void transform_grid_stride(const float*, float*, std::size_t, cudaStream_t, Affine);
template void transform_grid_stride(const float*, float*, std::size_t, cudaStream_t, Chain);
template void transform_grid_stride(const float*, float*, std::size_t, cudaStream_t, Gelu);
template void transform_grid_stride(const float*, float*, std::size_t, cudaStream_t, GeluTanh);
template void transform_grid_stride(const Half*, Half*, std::size_t, cudaStream_t, Copy);
template void transform_grid_stride(const Half*, Half*, std::size_t, cudaStream_t, Scale);
template void transform_grid_stride(const Half*, Half*, std::size_t, cudaStream_t, Square);
template void transform_grid_stride(const Half*, Half*, std::size_t, cudaStream_t, Pow2);
template void transform_grid_stride(const Half*, Half*, std::size_t, cudaStream_t, Affine);
template void transform_grid_stride(const Half*, Half*, std::size_t, cudaStream_t, Chain);
template void transform_grid_stride(const Half*, Half*, std::size_t, cudaStream_t, Gelu);
template void transform_grid_stride(const Half*, Half*, std::size_t, cudaStream_t, GeluTanh);
template void transform_grid_stride(const Bf16*, Bf16*, std::size_t, cudaStream_t, Copy);
template void transform_grid_stride(const Bf16*, Bf16*, std::size_t, cudaStream_t, Scale);
template void transform_grid_stride(const Bf16*, Bf16*, std::size_t, cudaStream_t, Square);
template void transform_grid_stride(const Bf16*, Bf16*, std::size_t, cudaStream_t, Pow2);
template void transform_grid_stride(const Bf16*, Bf16*, std::size_t, cudaStream_t, Affine);
template void transform_grid_stride(const Bf16*, Bf16*, std::size_t, cudaStream_t, Chain);
template void transform_grid_stride(const Bf16*, Bf16*, std::size_t, cudaStream_t, Gelu);
template void transform_grid_stride(const Bf16*, Bf16*, std::size_t, cudaStream_t, GeluTanh);

}  // namespace warpgauge::kernels
