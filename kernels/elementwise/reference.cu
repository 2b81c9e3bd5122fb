// SPDX-License-Identifier: Apache-2.0
// The references, in double precision: for verification, not for speed.
#include "kernels/elementwise/launchers.hpp"
#include "kernels/launch_elements.cuh"

namespace warpgauge::kernels {

/// expected[i] = op(in[i * stride], more[i * stride]...), in double precision.
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
  launch_elements({"transform_reference", n, block_threads}, {{"in", in}, {"expected", expected}},
                  stream, elementwise_reference_kernel<Op, In>, expected, n, 1, op, in);
}

template <class T>
void axpy_reference(Axpy op, const T* x, const T* y, double* expected, std::size_t n,
                    cudaStream_t stream) {
  launch_elements({"axpy_reference", n, block_threads},
                  {{"x", x}, {"y", y}, {"expected", expected}}, stream,
                  elementwise_reference_kernel<Axpy, T, T>, expected, n, 1, op, x, y);
}

void copy_strided_reference(const float* in, double* expected, std::size_t n, std::size_t stride,
                            cudaStream_t stream) {
  require_stride("copy_strided_reference", n, stride);
  launch_elements({"copy_strided_reference", n, block_threads},
                  {{"in", in}, {"expected", expected}}, stream,
                  elementwise_reference_kernel<Copy, float>, expected, n, stride, Copy{}, in);
}

auto reference_instances() {
  return instances_of_all([]<class Op, class In, class Out>(Instance<Op, In, Out>) {
    return &transform_reference<Op, In>;
  });
}

template void axpy_reference(Axpy, const float*, const float*, double*, std::size_t, cudaStream_t);
template void axpy_reference(Axpy, const Half*, const Half*, double*, std::size_t, cudaStream_t);
template void axpy_reference(Axpy, const Bf16*, const Bf16*, double*, std::size_t, cudaStream_t);

}  // namespace warpgauge::kernels
