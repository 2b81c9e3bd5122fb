// SPDX-License-Identifier: Apache-2.0
// One output per thread, in double.
#include <warpgauge/cuda/check.hpp>
#include "kernels/grouped/arguments.hpp"
#include "kernels/grouped/expert.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned grouped_reference_threads = 256;

template <class T>
__global__ __launch_bounds__(grouped_reference_threads) void grouped_gemm_reference_kernel(
    GroupedInputs<T> inputs, double* __restrict__ expected, GroupedShape shape, std::size_t first,
    std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * grouped_reference_threads + threadIdx.x;
  if (i < count) {
    expected[i] =
        grouped_output<double>(inputs, shape, (first + i) / shape.n, (first + i) % shape.n);
  }
}

template <class T>
void grouped_gemm_reference(GroupedInputs<T> inputs, double* expected, GroupedShape shape,
                            std::size_t first, std::size_t count, cudaStream_t stream) {
  if (count == 0 || shape.rows == 0 || shape.n == 0) {
    return;
  }
  constexpr const char* launcher = "grouped_gemm_reference";
  require_grouped(launcher, inputs, expected, shape, 16, 16);
  require_window(launcher, first, count, shape.rows * shape.n, "C");
  grouped_gemm_reference_kernel<<<blocks_for(launcher, count, grouped_reference_threads),
                                  grouped_reference_threads, 0, stream>>>(inputs, expected, shape,
                                                                          first, count);
  WARPGAUGE_CHECK(cudaGetLastError());
}

template void grouped_gemm_reference(GroupedInputs<__nv_bfloat16>, double*, GroupedShape,
                                     std::size_t, std::size_t, cudaStream_t);
template void grouped_gemm_reference(GroupedInputs<__nv_fp8_e4m3>, double*, GroupedShape,
                                     std::size_t, std::size_t, cudaStream_t);

}  // namespace warpgauge::kernels
