// SPDX-License-Identifier: Apache-2.0
// RMS norm alone, fused with the residual addition or with quantisation to e4m3, and the backward
// passes of RMS norm and layer norm (the forward pass of layer norm is in reduce.cu). All are bound
// by device memory; matrices have 256 MiB.
#include <cstddef>

#include <warpgauge/core/units.hpp>
#include <warpgauge/gpu_benchmark.hpp>
#include "kernels/norm/norm.hpp"

namespace {

using namespace warpgauge;
using namespace warpgauge::kernels;
using bf16 = __nv_bfloat16;

template <class T>
constexpr std::size_t elements = 256 * mebi / sizeof(T);
constexpr float epsilon = 1e-5F;

// A sum of squares errs as the sums of reduce.cu's rows.
constexpr double sums = 512 * unit_roundoff<float>;

/// block_bytes: of the longest row that needs no cluster of blocks.
template <class T>
RowsShape rows_of(const GpuCase& gpu, std::size_t block_bytes) {
  const std::size_t columns = gpu.param("columns", 1, elements<T>);
  if (columns * sizeof(T) > block_bytes && gpu.device().compute_major < 9) {
    throw Unsupported("rows of this length need compute capability 9.0");
  }
  return {elements<T> / columns, columns};
}

template <class T>
void forward(GpuCase& gpu) {
  const RowsShape shape = rows_of<T>(gpu, most_held_row_bytes_of_a_block);
  const auto in = gpu.input<T>(elements<T>);
  const auto gamma = gpu.input<T>(shape.columns);
  const auto out = gpu.output<T>(elements<T>);
  const auto scales = gpu.output<float>(shape.rows);
  gpu.moves_bytes((2 * elements<T> + shape.columns) * sizeof(T) + shape.rows * sizeof(float));
  gpu.verify(out, {.relative = sums + unit_roundoff<T>},
             [=](const Iteration& at, Window window, double* expected) {
               rms_norm_reference<T>(in[at], nullptr, gamma[at], expected, shape, epsilon,
                                     window.first, window.count, at.stream);
             });
  gpu.verify(scales, {.relative = sums}, [=](const Iteration& at, Window window, double* expected) {
    rms_scales_reference<T>(in[at], nullptr, expected, shape, epsilon, window.first, window.count,
                            at.stream);
  });
  gpu.replay([=](const Iteration& at) {
    rms_norm(in[at], gamma[at], out[at], scales[at], shape, epsilon, at.stream);
  });
}

template <class T>
void forward_residual(GpuCase& gpu) {
  const RowsShape shape = rows_of<T>(gpu, most_held_row_bytes_of_a_block);
  const auto in = gpu.input<T>(elements<T>);
  const auto residual = gpu.input<T>(elements<T>);
  const auto gamma = gpu.input<T>(shape.columns);
  const auto sum = gpu.output<T>(elements<T>);
  const auto out = gpu.output<T>(elements<T>);
  const auto scales = gpu.output<float>(shape.rows);
  gpu.moves_bytes((4 * elements<T> + shape.columns) * sizeof(T) + shape.rows * sizeof(float));
  gpu.verify(sum, {.relative = unit_roundoff<T>},
             [=](const Iteration& at, Window window, double* expected) {
               residual_sum_reference(in[at] + window.first, residual[at] + window.first, expected,
                                      window.count, at.stream);
             });
  gpu.verify(out, {.relative = sums + unit_roundoff<T>},
             [=](const Iteration& at, Window window, double* expected) {
               rms_norm_reference<T>(in[at], residual[at], gamma[at], expected, shape, epsilon,
                                     window.first, window.count, at.stream);
             });
  gpu.verify(scales, {.relative = sums}, [=](const Iteration& at, Window window, double* expected) {
    rms_scales_reference<T>(in[at], residual[at], expected, shape, epsilon, window.first,
                            window.count, at.stream);
  });
  gpu.replay([=](const Iteration& at) {
    rms_norm_residual(in[at], residual[at], gamma[at], sum[at], out[at], scales[at], shape, epsilon,
                      at.stream);
  });
}

void forward_e4m3(GpuCase& gpu) {
  const RowsShape shape = rows_of<bf16>(gpu, most_held_row_bytes_of_a_block);
  const auto in = gpu.input<bf16>(elements<bf16>);
  const auto gamma = gpu.input<bf16>(shape.columns);
  const auto out = gpu.output<__nv_fp8_e4m3>(elements<bf16>);
  const auto scales = gpu.output<float>(shape.rows);
  gpu.moves_bytes(3 * elements<bf16> + shape.columns * sizeof(bf16) + shape.rows * sizeof(float));
  // A float next to the middle of two e4m3 may be rounded to the other one.
  gpu.verify(out, {.relative = unit_roundoff<__nv_fp8_e4m3> + 1e-5},
             [=](const Iteration& at, Window window, double* expected) {
               rms_norm_e4m3_reference(in[at], gamma[at], expected, shape, window.first,
                                       window.count, at.stream);
             });
  gpu.verify(scales, {.relative = sums}, [=](const Iteration& at, Window window, double* expected) {
    e4m3_scales_reference(in[at], gamma[at], expected, shape, epsilon, window.first, window.count,
                          at.stream);
  });
  gpu.replay([=](const Iteration& at) {
    rms_norm_e4m3(in[at], gamma[at], out[at], scales[at], shape, epsilon, at.stream);
  });
}

// Means and scales are inputs like others: the gradients are linear in dy whatever they are.
template <class T, bool centred>
void backward(GpuCase& gpu) {
  const RowsShape shape = rows_of<T>(gpu, most_backward_row_bytes_before_clusters);
  const auto dy = gpu.input<T>(elements<T>);
  const auto in = gpu.input<T>(elements<T>);
  const auto gamma = gpu.input<T>(shape.columns);
  const auto means = gpu.input<float>(centred ? shape.rows : 1);
  const auto scales = gpu.input<float>(shape.rows);
  const auto dx = gpu.output<T>(elements<T>);
  const auto dgamma = gpu.output<float>(shape.columns);
  const auto partials = gpu.scratch<float>((centred ? 2 : 1) * backward_partials(shape.columns));
  gpu.moves_bytes((3 * elements<T> + shape.columns) * sizeof(T) +
                  (centred ? 2 : 1) * (shape.rows + shape.columns) * sizeof(float));
  // g and n are at most 2.25 and 4.5, and so the terms below 10; their mean errs as sums do.
  gpu.verify(dx, {.absolute = 64 * sums, .relative = unit_roundoff<T>},
             [=](const Iteration& at, Window window, double* expected) {
               norm_backward_reference<T>(dy[at], in[at], gamma[at], centred ? means[at] : nullptr,
                                          scales[at], expected, shape, window.first, window.count,
                                          at.stream);
             });
  // Terms are at most 6.75, their partial sums about a thousand, and most terms exceed 0.1.
  constexpr Tolerance less_than_a_term{.absolute = 0.02};
  gpu.verify(dgamma, less_than_a_term, [=](const Iteration& at, Window window, double* expected) {
    parameter_gradient_reference<T>(dy[at], in[at], centred ? means[at] : nullptr, scales[at],
                                    expected, shape, window.first, window.count, at.stream);
  });
  if constexpr (centred) {
    const auto dbeta = gpu.output<float>(shape.columns);
    gpu.verify(dbeta, less_than_a_term, [=](const Iteration& at, Window window, double* expected) {
      parameter_gradient_reference<T>(dy[at], nullptr, nullptr, scales[at], expected, shape,
                                      window.first, window.count, at.stream);
    });
    gpu.replay([=](const Iteration& at) {
      layer_norm_backward<T>(dy[at], in[at], gamma[at], means[at], scales[at], dx[at], dgamma[at],
                             dbeta[at], partials[at], shape, at.stream);
    });
  } else {
    gpu.replay([=](const Iteration& at) {
      rms_norm_backward<T>(dy[at], in[at], gamma[at], scales[at], dx[at], dgamma[at], partials[at],
                           shape, at.stream);
    });
  }
}

const Axes long_rows{{"columns", {32768}, {1024, 4096, 8192, 16384}}};
const Axes model_rows{{"columns", {8192}, {1024, 4096, 16384, 32768}}};
const Axes rows_of_full{{"columns", {}, {1024, 4096, 8192, 16384, 32768}}};
const Axes rows_full{{"columns", {}, {1024, 8192, 32768}}};

const GpuBenchmark norms[] = {
    {"norm/rms_norm/bf16", long_rows, forward<bf16>},
    {"norm/rms_norm/f32", rows_full, forward<float>},
    {"norm/rms_norm_residual/bf16", model_rows, forward_residual<bf16>},
    {"norm/rms_norm_residual/f32", rows_full, forward_residual<float>},
    {"norm/rms_norm_quantised/e4m3", model_rows, forward_e4m3},
    {"norm/rms_norm_backward/bf16", long_rows, backward<bf16, false>},
    {"norm/rms_norm_backward/f32", rows_full, backward<float, false>},
    {"norm/layer_norm_backward/bf16", rows_of_full, backward<bf16, true>},
    {"norm/layer_norm_backward/f32", rows_full, backward<float, true>},
};

}  // namespace
