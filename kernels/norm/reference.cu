// SPDX-License-Identifier: Apache-2.0
// RMS norm, its quantisation and the gradients of both norms in double precision.
#include "kernels/launch_elements.cuh"
#include "kernels/norm/norm.hpp"
#include "kernels/reduce/rows_reference.cuh"

namespace warpgauge::kernels {

/// x, or x + residual as T holds it.
template <class T>
struct SummedRow {
  const T* in;
  const T* residual;
  __device__ double operator()(std::size_t i) const {
    if (residual == nullptr) {
      return static_cast<double>(in[i]);
    }
    const T sum = static_cast<T>(static_cast<float>(in[i]) + static_cast<float>(residual[i]));
    return static_cast<double>(sum);
  }
};

/// The largest of |y(i)| of a row to be quantised, see rms_norm_e4m3().
template <class Y>
__device__ double largest_to_quantise(std::size_t columns, double (&scratch)[row_reference_threads],
                                      const Y& y) {
  const double largest = over_row(
      columns, 0, scratch, [&](std::size_t i) { return fabs(y(i)); },
      [](double a, double b) { return a > b ? a : b; });
  return largest > 0x1p-150 ? fmax(largest, 0x1p-119) : 0;  // float rounds 2^-150 to 0
}

/// 1 / sqrt(mean(x^2) + epsilon), in every thread.
template <class X>
__device__ double rms_scale(std::size_t columns, double (&scratch)[row_reference_threads],
                            const X& x, double epsilon) {
  const double squares = over_row(
      columns, 0, scratch, [&](std::size_t i) { return x(i) * x(i); },
      [](double a, double b) { return a + b; });
  return 1 / sqrt(squares / static_cast<double>(columns) + epsilon);
}

template <class T>
__global__ __launch_bounds__(row_reference_threads) void rms_norm_reference_kernel(
    const T* __restrict__ in, const T* __restrict__ residual, const T* __restrict__ gamma,
    double* __restrict__ expected, RowsWindow window, std::size_t rows, double epsilon) {
  __shared__ double scratch[row_reference_threads];
  for (std::size_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const std::size_t row = window.first / window.columns + r;
    const std::size_t start = row * window.columns;
    const SummedRow<T> x{in + start, residual == nullptr ? nullptr : residual + start};
    const double scale = rms_scale(window.columns, scratch, x, epsilon);
    window.for_each(row, [=](std::size_t i, std::size_t to) {
      expected[to] = x(i) * scale * static_cast<double>(gamma[i]);
    });
  }
}

/// gamma null: the scales of RMS norm; else those of its quantisation.
template <class T>
__global__ __launch_bounds__(row_reference_threads) void scales_reference_kernel(
    const T* __restrict__ in, const T* __restrict__ residual, const T* __restrict__ gamma,
    double* __restrict__ scales, std::size_t columns, std::size_t first, std::size_t count,
    double epsilon) {
  __shared__ double scratch[row_reference_threads];
  for (std::size_t r = blockIdx.x; r < count; r += gridDim.x) {
    const std::size_t start = (first + r) * columns;
    const SummedRow<T> x{in + start, residual == nullptr ? nullptr : residual + start};
    double scale = rms_scale(columns, scratch, x, epsilon);
    if (gamma != nullptr) {
      scale *=
          largest_to_quantise(columns, scratch,
                              [&](std::size_t i) { return x(i) * static_cast<double>(gamma[i]); }) /
          448;
    }
    if (threadIdx.x == 0) {
      scales[r] = scale;
    }
  }
}

__global__ __launch_bounds__(row_reference_threads) void rms_norm_e4m3_reference_kernel(
    const __nv_bfloat16* __restrict__ in, const __nv_bfloat16* __restrict__ gamma,
    double* __restrict__ expected, RowsWindow window, std::size_t rows) {
  __shared__ double scratch[row_reference_threads];
  for (std::size_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const std::size_t row = window.first / window.columns + r;
    const __nv_bfloat16* const x = in + row * window.columns;
    const auto y = [=](std::size_t i) {
      return static_cast<double>(x[i]) * static_cast<double>(gamma[i]);
    };
    const double largest = largest_to_quantise(window.columns, scratch, y);
    window.for_each(row, [=](std::size_t i, std::size_t to) {
      expected[to] = largest > 0 ? y(i) / largest * 448 : 0;
    });
  }
}

template <class T>
__global__ __launch_bounds__(row_reference_threads) void norm_backward_reference_kernel(
    const T* __restrict__ dy, const T* __restrict__ in, const T* __restrict__ gamma,
    const float* __restrict__ means, const float* __restrict__ scales, double* __restrict__ dx,
    RowsWindow window, std::size_t rows) {
  __shared__ double scratch[row_reference_threads];
  const auto add = [](double a, double b) { return a + b; };
  for (std::size_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const std::size_t row = window.first / window.columns + r;
    const std::size_t start = row * window.columns;
    const double scale = scales[row];
    const double mean = means == nullptr ? 0 : means[row];
    const auto n = [=](std::size_t i) {
      return (static_cast<double>(in[start + i]) - mean) * scale;
    };
    const auto g = [=](std::size_t i) {
      return static_cast<double>(dy[start + i]) * static_cast<double>(gamma[i]);
    };
    const auto columns = static_cast<double>(window.columns);
    const double along =
        over_row(
            window.columns, 0, scratch, [&](std::size_t i) { return g(i) * n(i); }, add) /
        columns;
    const double offset =
        means == nullptr ? 0 : over_row(window.columns, 0, scratch, g, add) / columns;
    window.for_each(row, [=](std::size_t i, std::size_t to) {
      dx[to] = scale * (g(i) - offset - n(i) * along);
    });
  }
}

inline constexpr unsigned gradient_rows = 32;  // threads of a block for each of 32 columns

template <class T>
__global__ __launch_bounds__(32 * gradient_rows) void parameter_gradient_reference_kernel(
    const T* __restrict__ dy, const T* __restrict__ in, const float* __restrict__ means,
    const float* __restrict__ scales, double* __restrict__ expected, RowsShape shape,
    std::size_t first, std::size_t count) {
  __shared__ double sums[gradient_rows][33];
  const std::size_t i = std::size_t{blockIdx.x} * 32 + threadIdx.x % 32;
  double sum = 0;
  for (std::size_t row = threadIdx.x / 32; row < shape.rows && i < count; row += gradient_rows) {
    const std::size_t at = row * shape.columns + first + i;
    const double mean = means == nullptr ? 0 : means[row];
    const double n =
        in == nullptr ? 1 : (static_cast<double>(in[at]) - mean) * static_cast<double>(scales[row]);
    sum += static_cast<double>(dy[at]) * n;
  }
  sums[threadIdx.x / 32][threadIdx.x % 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32 && i < count) {
    sum = 0;
    for (unsigned row = 0; row < gradient_rows; ++row) {
      sum += sums[row][threadIdx.x];
    }
    expected[i] = sum;
  }
}

template <class T>
__global__ void residual_sum_reference_kernel(const T* __restrict__ in,
                                              const T* __restrict__ residual,
                                              double* __restrict__ expected, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) {
    expected[i] = static_cast<double>(in[i]) + static_cast<double>(residual[i]);
  }
}

namespace {

template <class T>
void launch_scales(const char* launcher, const T* in, const T* residual, const T* gamma,
                   double* scales, RowsShape shape, float epsilon, std::size_t first,
                   std::size_t count, cudaStream_t stream) {
  if (count == 0 || shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_countable(launcher, shape.rows, shape.columns, sizeof(double));
  require_window(launcher, first, count, shape.rows, "the rows");
  require_arrays(launcher, {{"in", in}, {"scales", scales}});
  scales_reference_kernel<<<static_cast<unsigned>(std::min(count, max_grid_blocks)),
                            row_reference_threads, 0, stream>>>(
      in, residual, gamma, scales, shape.columns, first, count, static_cast<double>(epsilon));
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace

template <class T>
void residual_sum_reference(const T* in, const T* residual, double* expected, std::size_t n,
                            cudaStream_t stream) {
  launch_elements({.launcher = "residual_sum_reference", .n = n, .threads = 256},
                  {{"in", in}, {"residual", residual}, {"expected", expected}}, stream,
                  residual_sum_reference_kernel<T>, in, residual, expected, n);
}

template <class T>
void rms_norm_reference(const T* in, const T* residual, const T* gamma, double* expected,
                        RowsShape shape, float epsilon, std::size_t first, std::size_t count,
                        cudaStream_t stream) {
  const RowsWindow window{shape.columns, first, count};
  launch_over("rms_norm_reference", shape, window,
              {{"in", in}, {"gamma", gamma}, {"expected", expected}},
              [&](std::size_t rows, unsigned blocks) {
                rms_norm_reference_kernel<<<blocks, row_reference_threads, 0, stream>>>(
                    in, residual, gamma, expected, window, rows, static_cast<double>(epsilon));
              });
}

template <class T>
void rms_scales_reference(const T* in, const T* residual, double* scales, RowsShape shape,
                          float epsilon, std::size_t first, std::size_t count,
                          cudaStream_t stream) {
  launch_scales<T>("rms_scales_reference", in, residual, nullptr, scales, shape, epsilon, first,
                   count, stream);
}

void e4m3_scales_reference(const __nv_bfloat16* in, const __nv_bfloat16* gamma, double* scales,
                           RowsShape shape, float epsilon, std::size_t first, std::size_t count,
                           cudaStream_t stream) {
  if (count != 0 && shape.rows != 0 && shape.columns != 0) {
    require_arrays("e4m3_scales_reference", {{"gamma", gamma}});
  }
  launch_scales<__nv_bfloat16>("e4m3_scales_reference", in, nullptr, gamma, scales, shape, epsilon,
                               first, count, stream);
}

void rms_norm_e4m3_reference(const __nv_bfloat16* in, const __nv_bfloat16* gamma, double* expected,
                             RowsShape shape, std::size_t first, std::size_t count,
                             cudaStream_t stream) {
  const RowsWindow window{shape.columns, first, count};
  launch_over("rms_norm_e4m3_reference", shape, window,
              {{"in", in}, {"gamma", gamma}, {"expected", expected}},
              [&](std::size_t rows, unsigned blocks) {
                rms_norm_e4m3_reference_kernel<<<blocks, row_reference_threads, 0, stream>>>(
                    in, gamma, expected, window, rows);
              });
}

template <class T>
void norm_backward_reference(const T* dy, const T* in, const T* gamma, const float* means,
                             const float* scales, double* dx, RowsShape shape, std::size_t first,
                             std::size_t count, cudaStream_t stream) {
  const RowsWindow window{shape.columns, first, count};
  launch_over("norm_backward_reference", shape, window,
              {{"dy", dy}, {"in", in}, {"gamma", gamma}, {"scales", scales}, {"dx", dx}},
              [&](std::size_t rows, unsigned blocks) {
                norm_backward_reference_kernel<<<blocks, row_reference_threads, 0, stream>>>(
                    dy, in, gamma, means, scales, dx, window, rows);
              });
}

template <class T>
void parameter_gradient_reference(const T* dy, const T* in, const float* means, const float* scales,
                                  double* expected, RowsShape shape, std::size_t first,
                                  std::size_t count, cudaStream_t stream) {
  constexpr const char* launcher = "parameter_gradient_reference";
  if (count == 0 || shape.columns == 0) {
    return;
  }
  require_countable(launcher, shape.rows, shape.columns, sizeof(double));
  require_window(launcher, first, count, shape.columns, "the columns");
  require_arrays(launcher, {{"expected", expected}});
  if (shape.rows > 0) {
    require_arrays(launcher, {{"dy", dy}, {"scales", scales}});
  }
  parameter_gradient_reference_kernel<<<blocks_for(launcher, count, 32), 32 * gradient_rows, 0,
                                        stream>>>(dy, in, means, scales, expected, shape, first,
                                                  count);
  WARPGAUGE_CHECK(cudaGetLastError());
}

template void residual_sum_reference(const float*, const float*, double*, std::size_t,
                                     cudaStream_t);
template void rms_norm_reference(const float*, const float*, const float*, double*, RowsShape,
                                 float, std::size_t, std::size_t, cudaStream_t);
template void rms_scales_reference(const float*, const float*, double*, RowsShape, float,
                                   std::size_t, std::size_t, cudaStream_t);
template void norm_backward_reference(const float*, const float*, const float*, const float*,
                                      const float*, double*, RowsShape, std::size_t, std::size_t,
                                      cudaStream_t);
template void parameter_gradient_reference(const float*, const float*, const float*, const float*,
                                           double*, RowsShape, std::size_t, std::size_t,
                                           cudaStream_t);
template void residual_sum_reference(const __nv_bfloat16*, const __nv_bfloat16*, double*,
                                     std::size_t, cudaStream_t);
template void rms_norm_reference(const __nv_bfloat16*, const __nv_bfloat16*, const __nv_bfloat16*,
                                 double*, RowsShape, float, std::size_t, std::size_t, cudaStream_t);
template void rms_scales_reference(const __nv_bfloat16*, const __nv_bfloat16*, double*, RowsShape,
                                   float, std::size_t, std::size_t, cudaStream_t);
template void norm_backward_reference(const __nv_bfloat16*, const __nv_bfloat16*,
                                      const __nv_bfloat16*, const float*, const float*, double*,
                                      RowsShape, std::size_t, std::size_t, cudaStream_t);
template void parameter_gradient_reference(const __nv_bfloat16*, const __nv_bfloat16*, const float*,
                                           const float*, double*, RowsShape, std::size_t,
                                           std::size_t, cudaStream_t);

}  // namespace warpgauge::kernels
