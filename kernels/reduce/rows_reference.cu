// SPDX-License-Identifier: Apache-2.0
// Softmax and layer norm in double precision.
#include "kernels/reduce/rows_reference.cuh"

namespace warpgauge::kernels {

template <class T>
__global__ __launch_bounds__(row_reference_threads) void softmax_reference_kernel(
    const T* __restrict__ in, double* __restrict__ expected, RowsWindow window, std::size_t rows) {
  __shared__ double scratch[row_reference_threads];
  for (std::size_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const std::size_t row = window.first / window.columns + r;
    const T* const x = in + row * window.columns;
    const auto at = [=](std::size_t i) { return static_cast<double>(x[i]); };
    const double largest = over_row(window.columns, -INFINITY, scratch, at,
                                    [](double a, double b) { return a > b ? a : b; });
    const auto power = [=](std::size_t i) { return exp(at(i) - largest); };
    const double sum =
        over_row(window.columns, 0, scratch, power, [](double a, double b) { return a + b; });
    window.for_each(row, [=](std::size_t i, std::size_t to) { expected[to] = power(i) / sum; });
  }
}

template <class T>
__global__ __launch_bounds__(row_reference_threads) void layer_norm_reference_kernel(
    const T* __restrict__ in, const T* __restrict__ gamma, const T* __restrict__ beta,
    double* __restrict__ expected, RowsWindow window, std::size_t rows, double epsilon) {
  __shared__ double scratch[row_reference_threads];
  const auto add = [](double a, double b) { return a + b; };
  for (std::size_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const std::size_t row = window.first / window.columns + r;
    const T* const x = in + row * window.columns;
    const auto columns = static_cast<double>(window.columns);
    const auto at = [=](std::size_t i) { return static_cast<double>(x[i]); };
    const double mean = over_row(window.columns, 0, scratch, at, add) / columns;
    const auto square = [=](std::size_t i) { return (at(i) - mean) * (at(i) - mean); };
    const double variance = over_row(window.columns, 0, scratch, square, add) / columns;
    const double scale = 1 / sqrt(variance + epsilon);
    window.for_each(row, [=](std::size_t i, std::size_t to) {
      expected[to] =
          (at(i) - mean) * scale * static_cast<double>(gamma[i]) + static_cast<double>(beta[i]);
    });
  }
}

template <class T>
void softmax_reference(const T* in, double* expected, RowsShape shape, std::size_t first,
                       std::size_t count, cudaStream_t stream) {
  const RowsWindow window{shape.columns, first, count};
  launch_over("softmax_reference", shape, window, {{"in", in}, {"expected", expected}},
              [&](std::size_t rows, unsigned blocks) {
                softmax_reference_kernel<<<blocks, row_reference_threads, 0, stream>>>(
                    in, expected, window, rows);
              });
}

template <class T>
void layer_norm_reference(const T* in, const T* gamma, const T* beta, double* expected,
                          RowsShape shape, float epsilon, std::size_t first, std::size_t count,
                          cudaStream_t stream) {
  const RowsWindow window{shape.columns, first, count};
  launch_over("layer_norm_reference", shape, window,
              {{"in", in}, {"gamma", gamma}, {"beta", beta}, {"expected", expected}},
              [&](std::size_t rows, unsigned blocks) {
                layer_norm_reference_kernel<<<blocks, row_reference_threads, 0, stream>>>(
                    in, gamma, beta, expected, window, rows, static_cast<double>(epsilon));
              });
}

template void softmax_reference(const float*, double*, RowsShape, std::size_t, std::size_t,
                                cudaStream_t);
template void softmax_reference(const __nv_bfloat16*, double*, RowsShape, std::size_t, std::size_t,
                                cudaStream_t);
template void layer_norm_reference(const float*, const float*, const float*, double*, RowsShape,
                                   float, std::size_t, std::size_t, cudaStream_t);
template void layer_norm_reference(const __nv_bfloat16*, const __nv_bfloat16*, const __nv_bfloat16*,
                                   double*, RowsShape, float, std::size_t, std::size_t,
                                   cudaStream_t);

}  // namespace warpgauge::kernels
