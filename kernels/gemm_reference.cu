// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include "kernels/arguments.hpp"
#include "kernels/gemm_arguments.hpp"
#include "kernels/launch_check.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned reference_threads = 256;

template <class T>
__global__ __launch_bounds__(reference_threads) void gemm_reference_kernel(
    const T* __restrict__ a, const T* __restrict__ b, double* __restrict__ expected,
    GemmShape shape, std::size_t first, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * reference_threads + threadIdx.x;
  if (i >= count) {
    return;
  }
  const std::size_t row = (first + i) / shape.n;
  const std::size_t column = (first + i) % shape.n;
  double sum = 0;
  for (std::size_t j = 0; j < shape.k; ++j) {
    sum += static_cast<double>(a[row * shape.k + j]) * static_cast<double>(b[j * shape.n + column]);
  }
  expected[i] = sum;
}

template <class T>
void gemm_reference(const T* a, const T* b, double* expected, GemmShape shape, std::size_t first,
                    std::size_t count, cudaStream_t stream) {
  if (count == 0 || shape.m == 0 || shape.n == 0) {
    return;
  }
  require_gemm("gemm_reference", a, b, alignof(T), shape);
  require_pointer("gemm_reference", "expected", expected, alignof(double));
  const std::size_t outputs = shape.m * shape.n;  // fits: require_gemm
  if (first > outputs || count > outputs - first) {
    throw std::invalid_argument("gemm_reference: " + std::to_string(count) + " elements from " +
                                std::to_string(first) + " end past the " + std::to_string(outputs) +
                                " of C");
  }
  const unsigned blocks = blocks_for("gemm_reference", count, reference_threads);
  gemm_reference_kernel<<<blocks, reference_threads, 0, stream>>>(a, b, expected, shape, first,
                                                                  count);
  check_launch("gemm_reference");
}

template void gemm_reference(const float*, const float*, double*, GemmShape, std::size_t,
                             std::size_t, cudaStream_t);
template void gemm_reference(const __nv_bfloat16*, const __nv_bfloat16*, double*, GemmShape,
                             std::size_t, std::size_t, cudaStream_t);

}  // namespace warpgauge::kernels
