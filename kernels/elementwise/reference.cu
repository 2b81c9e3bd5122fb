// SPDX-License-Identifier: Apache-2.0
// The references, in double precision: for verification, not for speed.
#include <limits>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/elementwise/strides.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned block_threads = 256;

/// Element i of the output is op of the elements i * stride of the inputs.
template <class Op, class In, class... More>
__global__ __launch_bounds__(block_threads) void elementwise_reference_kernel(
    double* expected, std::size_t n, std::size_t stride, Op op, const In* in, const More*... more) {
  const std::size_t i = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < n) {
    expected[i] = op(static_cast<double>(in[i * stride]), static_cast<double>(more[i * stride])...);
  }
}

template <class Op, class In>
void transform_reference(const In* in, double* expected, std::size_t n, cudaStream_t stream,
                         Op op) {
  if (n == 0) {
    return;
  }
  require_pointer("transform_reference", "in", in, alignof(In));
  require_pointer("transform_reference", "expected", expected, alignof(double));
  const unsigned blocks = blocks_for("transform_reference", n, block_threads);
  elementwise_reference_kernel<<<blocks, block_threads, 0, stream>>>(expected, n, 1, op, in);
  WARPGAUGE_CHECK(cudaGetLastError());
}

template <class T>
void axpy_reference(Axpy op, const T* x, const T* y, double* expected, std::size_t n,
                    cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require_pointer("axpy_reference", "x", x, alignof(T));
  require_pointer("axpy_reference", "y", y, alignof(T));
  require_pointer("axpy_reference", "expected", expected, alignof(double));
  const unsigned blocks = blocks_for("axpy_reference", n, block_threads);
  elementwise_reference_kernel<<<blocks, block_threads, 0, stream>>>(expected, n, 1, op, x, y);
  WARPGAUGE_CHECK(cudaGetLastError());
}

void copy_strided_reference(const float* in, double* expected, std::size_t n, std::size_t stride,
                            cudaStream_t stream) {
  if (n == 0) {
    return;
  }
  require_pointer("copy_strided_reference", "in", in, alignof(float));
  require_pointer("copy_strided_reference", "expected", expected, alignof(double));
  require_stride("copy_strided_reference", n, stride);
  const unsigned blocks = blocks_for("copy_strided_reference", n, block_threads);
  elementwise_reference_kernel<<<blocks, block_threads, 0, stream>>>(expected, n, stride, Copy{},
                                                                     in);
  WARPGAUGE_CHECK(cudaGetLastError());
}

using Half = __half;
using Bf16 = __nv_bfloat16;

template void transform_reference(const float*, double*, std::size_t, cudaStream_t, Copy);
template void transform_reference(const float*, double*, std::size_t, cudaStream_t, Scale);
template void transform_reference(const float*, double*, std::size_t, cudaStream_t, Square);
template void transform_reference(const float*, double*, std::size_t, cudaStream_t, Pow2);
template void transform_reference(const float*, double*, std::size_t, cudaStream_t, Affine);
template void transform_reference(const float*, double*, std::size_t, cudaStream_t, Chain);
template void transform_reference(const float*, double*, std::size_t, cudaStream_t, Gelu);
template void transform_reference(const float*, double*, std::size_t, cudaStream_t, GeluTanh);
template void transform_reference(const Half*, double*, std::size_t, cudaStream_t, Copy);
template void transform_reference(const Half*, double*, std::size_t, cudaStream_t, Scale);
template void transform_reference(const Half*, double*, std::size_t, cudaStream_t, Square);
template void transform_reference(const Half*, double*, std::size_t, cudaStream_t, Pow2);
template void transform_reference(const Half*, double*, std::size_t, cudaStream_t, Affine);
template void transform_reference(const Half*, double*, std::size_t, cudaStream_t, Chain);
template void transform_reference(const Half*, double*, std::size_t, cudaStream_t, Gelu);
template void transform_reference(const Half*, double*, std::size_t, cudaStream_t, GeluTanh);
template void transform_reference(const Bf16*, double*, std::size_t, cudaStream_t, Copy);
template void transform_reference(const Bf16*, double*, std::size_t, cudaStream_t, Scale);
template void transform_reference(const Bf16*, double*, std::size_t, cudaStream_t, Square);
template void transform_reference(const Bf16*, double*, std::size_t, cudaStream_t, Pow2);
template void transform_reference(const Bf16*, double*, std::size_t, cudaStream_t, Affine);
template void transform_reference(const Bf16*, double*, std::size_t, cudaStream_t, Chain);
template void transform_reference(const Bf16*, double*, std::size_t, cudaStream_t, Gelu);
template void transform_reference(const Bf16*, double*, std::size_t, cudaStream_t, GeluTanh);

template void axpy_reference(Axpy, const float*, const float*, double*, std::size_t, cudaStream_t);
template void axpy_reference(Axpy, const Half*, const Half*, double*, std::size_t, cudaStream_t);
template void axpy_reference(Axpy, const Bf16*, const Bf16*, double*, std::size_t, cudaStream_t);

}  // namespace warpgauge::kernels
