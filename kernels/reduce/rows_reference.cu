// SPDX-License-Identifier: Apache-2.0
// In double precision, one block per row, which goes through it as often as the formula does: for
// verification, not for speed.
#include <algorithm>

#include <warpgauge/cuda/check.hpp>
#include "kernels/arguments.hpp"
#include "kernels/reduce/block_tree.cuh"
#include "kernels/reduce/rows.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned row_reference_threads = 512;

/// Folds value(i) over all columns; every thread has the result. scratch belongs to the block.
template <class Value, class Fold>
__device__ double over_row(std::size_t columns, double start,
                           double (&scratch)[row_reference_threads], const Value& value,
                           const Fold& fold) {
  double result = start;
  for (std::size_t i = threadIdx.x; i < columns; i += row_reference_threads) {
    result = fold(result, value(i));
  }
  __syncthreads();  // an earlier call may still read scratch
  combine_as_tree(scratch, result, fold);
  __syncthreads();
  return scratch[0];
}

/// The elements of a flattened matrix from `first` on; the block's rows begin with first's row.
struct RowsWindow {
  std::size_t columns, first, count;

  /// Calls store(i, its place in the output) for every column i of the row inside the window.
  template <class Store>
  __device__ void for_each(std::size_t row, const Store& store) const {
    for (std::size_t i = threadIdx.x; i < columns; i += row_reference_threads) {
      const std::size_t at = row * columns + i;
      if (at >= first && at - first < count) {
        store(i, at - first);
      }
    }
  }
};

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

namespace {

/// Calls launch(rows that the window touches, blocks: one per row, up to what a grid holds).
template <class Launch>
void launch_over(const char* launcher, RowsShape shape, RowsWindow window,
                 std::initializer_list<Array> arrays, const Launch& launch) {
  if (window.count == 0 || shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_countable(launcher, shape.rows, shape.columns, sizeof(double));
  require_window(launcher, window.first, window.count, shape.rows * shape.columns, "the matrix");
  require_arrays(launcher, arrays);
  const std::size_t last = window.first + window.count - 1;
  const std::size_t rows = last / shape.columns - window.first / shape.columns + 1;
  launch(rows, static_cast<unsigned>(std::min(rows, max_grid_blocks)));
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace

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
