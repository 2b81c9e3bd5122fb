// SPDX-License-Identifier: Apache-2.0
// One output per thread, computed from its index in the output: no tiles that could be mixed up.
#include "kernels/launch_elements.cuh"
#include "kernels/memory/transpose.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned transpose_reference_threads = 256;

__global__ __launch_bounds__(transpose_reference_threads) void transpose_reference_kernel(
    const float* __restrict__ in, double* __restrict__ expected, std::size_t rows,
    std::size_t columns, std::size_t first, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * transpose_reference_threads + threadIdx.x;
  if (i < count) {
    const std::size_t at = first + i;
    expected[i] = static_cast<double>(in[at % rows * columns + at / rows]);
  }
}

void transpose_reference(const float* in, double* expected, TransposeShape shape, std::size_t first,
                         std::size_t count, cudaStream_t stream) {
  if (count == 0 || shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_countable("transpose_reference", shape.rows, shape.columns, sizeof(double));
  require_window("transpose_reference", first, count, shape.rows * shape.columns, "the matrix");
  launch_elements({"transpose_reference", count, transpose_reference_threads},
                  {{"in", in}, {"expected", expected}}, stream, transpose_reference_kernel, in,
                  expected, shape.rows, shape.columns, first, count);
}

}  // namespace warpgauge::kernels
