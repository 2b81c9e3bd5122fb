// SPDX-License-Identifier: Apache-2.0
#include "kernels/arguments.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/launch_check.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned block_threads = 256;  // 8 blocks fill an SM's 2048 threads
inline constexpr unsigned vector_width = sizeof(float4) / sizeof(float);
// One 16-byte load a thread keeps 32 KiB an SM in flight, just what HBM3e's latency asks for
// (4.8 TB/s * 0.7 us / 132 SMs = 25 KiB). Small blocks keep it so to the end of a wave: on an H200
// 128 threads with one vector each reach 4235 GB/s, 256 with two 4080, 1024 with one 4047.
inline constexpr unsigned vector_block_threads = 128;

template <class Op, class Out>
__global__ __launch_bounds__(block_threads) void transform_scalar_kernel(
    const float* __restrict__ in, Out* __restrict__ out, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < n) {
    out[i] = Op{}(static_cast<Out>(in[i]));
  }
}

template <class Op>
__global__ __launch_bounds__(vector_block_threads) void transform_vec4_kernel(
    const float* __restrict__ in, float* __restrict__ out, std::size_t n) {
  const std::size_t vectors = n / vector_width;
  const std::size_t i = std::size_t{blockIdx.x} * vector_block_threads + threadIdx.x;
  if (i < vectors) {
    const float4 v = reinterpret_cast<const float4*>(in)[i];
    reinterpret_cast<float4*>(out)[i] = make_float4(Op{}(v.x), Op{}(v.y), Op{}(v.z), Op{}(v.w));
  }
  if (blockIdx.x == 0 && threadIdx.x < n % vector_width) {
    const std::size_t last = vectors * vector_width + threadIdx.x;
    out[last] = Op{}(in[last]);
  }
}

template <class Op>
void transform_scalar(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require_pointer("transform_scalar", "in", in, alignof(float));
  require_pointer("transform_scalar", "out", out, alignof(float));
  const unsigned blocks = blocks_for("transform_scalar", n, block_threads);
  transform_scalar_kernel<Op, float><<<blocks, block_threads, 0, stream>>>(in, out, n);
  check_launch("transform_scalar");
}

template <class Op>
void transform_vec4(const float* in, float* out, std::size_t n, cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require_pointer("transform_vec4", "in", in, sizeof(float4));
  require_pointer("transform_vec4", "out", out, sizeof(float4));
  const unsigned blocks = blocks_for("transform_vec4", n, vector_block_threads * vector_width);
  transform_vec4_kernel<Op><<<blocks, vector_block_threads, 0, stream>>>(in, out, n);
  check_launch("transform_vec4");
}

template <class Op>
void transform_reference(const float* in, double* expected, std::size_t n, cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require_pointer("transform_reference", "in", in, alignof(float));
  require_pointer("transform_reference", "expected", expected, alignof(double));
  const unsigned blocks = blocks_for("transform_reference", n, block_threads);
  transform_scalar_kernel<Op, double><<<blocks, block_threads, 0, stream>>>(in, expected, n);
  check_launch("transform_reference");
}

template void transform_scalar<Copy>(const float*, float*, std::size_t, cudaStream_t);
template void transform_scalar<Square>(const float*, float*, std::size_t, cudaStream_t);
template void transform_scalar<Affine>(const float*, float*, std::size_t, cudaStream_t);
template void transform_vec4<Copy>(const float*, float*, std::size_t, cudaStream_t);
template void transform_vec4<Square>(const float*, float*, std::size_t, cudaStream_t);
template void transform_vec4<Affine>(const float*, float*, std::size_t, cudaStream_t);
template void transform_reference<Copy>(const float*, double*, std::size_t, cudaStream_t);
template void transform_reference<Square>(const float*, double*, std::size_t, cudaStream_t);
template void transform_reference<Affine>(const float*, double*, std::size_t, cudaStream_t);

}  // namespace warpgauge::kernels
