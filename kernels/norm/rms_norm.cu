// SPDX-License-Identifier: Apache-2.0
// RMS norm of a row in registers, alone or fused with the residual addition before it, which then
// costs its own reading and writing only: the sum is not read again. Bound by device memory.
#include <cuda_pipeline_primitives.h>

#include "kernels/norm/norm.hpp"
#include "kernels/reduce/row_in_registers.cuh"
#include "kernels/reduce/row_launch.cuh"

namespace warpgauge::kernels {

// A `full` row has Shape::most_vectors, which needs no comparisons.
template <class T, class Shape, bool adds, bool full = false>
__global__ __launch_bounds__(Shape::threads, Shape::least_blocks_per_sm) void rms_norm_kernel(
    const T* __restrict__ in, const T* __restrict__ residual, const T* __restrict__ gamma,
    T* __restrict__ sum, T* __restrict__ out, float* __restrict__ scales, std::size_t rows,
    unsigned row_vectors, float epsilon) {
  constexpr unsigned n = vector_elements<T>;
  __shared__ typename RowGroup<Shape>::Storage storage;
  RowGroup<Shape> group(storage);
  // The row fills the registers, so the residual waits in shared memory: each vector for the thread
  // that has fetched it, which needs no barrier.
  extern __shared__ uint4 memory[];
  uint4* const fetched = memory + threadIdx.x;
  const unsigned first = group.first();
  const unsigned zero = row_vectors >> 31;  // a row has at most 2^14
  const uint4* const factors = reinterpret_cast<const uint4*>(gamma) + first;
  const float per_element = 1.0F / static_cast<float>(row_vectors * n);
  for (std::size_t row = blockIdx.x / Shape::blocks; row < rows; row += gridDim.x / Shape::blocks) {
    const std::size_t start = row * row_vectors + first;
    const uint4* const from = reinterpret_cast<const uint4*>(in) + start;
    uint4* const to = reinterpret_cast<uint4*>(out) + start;
    if constexpr (adds) {
#pragma unroll
      for (unsigned j = 0; j < Shape::vectors; ++j) {
        if (first + j * Shape::step < row_vectors) {
          __pipeline_memcpy_async(
              fetched + j * Shape::threads,
              reinterpret_cast<const uint4*>(residual) + start + j * Shape::step, sizeof(uint4));
        }
      }
      __pipeline_commit();
    }
    uint4 held[Shape::vectors];
    hold_row<Shape, full>(held, from, first, row_vectors);
    if constexpr (adds) {
      __pipeline_wait_prior(0);
#pragma unroll
      for (unsigned j = 0; j < Shape::vectors; ++j) {
        if (first + j * Shape::step < row_vectors) {
          float x[n];
          float added[n];
          unpack(held[j], x);
          unpack(fetched[j * Shape::threads], added);
#pragma unroll
          for (unsigned e = 0; e < n; ++e) {
            x[e] += added[e];
          }
          held[j] = pack(x);
          __stcs(reinterpret_cast<uint4*>(sum) + start + j * Shape::step, held[j]);
        }
      }
    }
    float squares = 0;
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      float x[n];
      forget_unpacked<T>(held[j], zero);
      unpack(held[j], x);
#pragma unroll
      for (unsigned e = 0; e < n; ++e) {
        x[e] *= x[e];
      }
      squares += fold(x, Plus{});
    }
    const float scale = rsqrtf(group.reduce(squares, 0.0F, Plus{}) * per_element + epsilon);
    if (first == 0) {
      scales[row] = scale;
    }
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      if (full || first + j * Shape::step < row_vectors) {
        float x[n];
        float factor[n];
        unpack(factors[j * Shape::step], factor);
        forget_unpacked<T>(held[j], zero);
        unpack(held[j], x);
#pragma unroll
        for (unsigned e = 0; e < n; ++e) {
          x[e] *= scale * factor[e];
        }
        __stcs(to + j * Shape::step, pack(x));
      }
    }
  }
}

template <class T>
void rms_norm(const T* in, const T* gamma, T* out, float* scales, RowsShape shape, float epsilon,
              cudaStream_t stream) {
  if (shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_held_rows<T>("rms_norm", shape);
  require_arrays("rms_norm", {{"in", in, sizeof(uint4)},
                              {"gamma", gamma, sizeof(uint4)},
                              {"out", out, sizeof(uint4)},
                              {"scales", scales}});
  with_row_shape<T>(shape, [&]<class Shape>(Shape, unsigned row_vectors) {
    const auto launch = [&]<class Chosen, bool full>() {
      launch_rows<Chosen, rms_norm_kernel<T, Chosen, false, full>>(
          "rms_norm", shape.rows, stream, in, static_cast<const T*>(nullptr), gamma,
          static_cast<T*>(nullptr), out, scales, shape.rows, row_vectors, epsilon);
    };
    // In runs, a shorter row would leave some warps, or blocks of a cluster, without vectors.
    if constexpr (Shape::blocks == 1) {
      if (row_vectors == Shape::most_vectors) {
        return launch.template operator()<typename Shape::InRuns, true>();
      }
    }
    launch.template operator()<Shape, false>();
  });
}

template <class T>
void rms_norm_residual(const T* in, const T* residual, const T* gamma, T* sum, T* out,
                       float* scales, RowsShape shape, float epsilon, cudaStream_t stream) {
  if (shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_held_rows<T>("rms_norm_residual", shape);
  require_arrays("rms_norm_residual", {{"in", in, sizeof(uint4)},
                                       {"residual", residual, sizeof(uint4)},
                                       {"gamma", gamma, sizeof(uint4)},
                                       {"sum", sum, sizeof(uint4)},
                                       {"out", out, sizeof(uint4)},
                                       {"scales", scales}});
  with_row_shape<T>(shape, [&]<class Shape>(Shape, unsigned row_vectors) {
    const auto launch = [&]<class Chosen>() {
      launch_rows<Chosen, rms_norm_kernel<T, Chosen, true>,
                  Chosen::vectors * Chosen::threads * sizeof(uint4)>(
          "rms_norm_residual", shape.rows, stream, in, residual, gamma, sum, out, scales,
          shape.rows, row_vectors, epsilon);
    };
    if constexpr (Shape::blocks == 1) {  // as in rms_norm()
      if (row_vectors == Shape::most_vectors) {
        return launch.template operator()<typename Shape::InRuns>();
      }
    }
    launch.template operator()<Shape>();
  });
}

template void rms_norm(const float*, const float*, float*, float*, RowsShape, float, cudaStream_t);
template void rms_norm(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*, float*,
                       RowsShape, float, cudaStream_t);
template void rms_norm_residual(const float*, const float*, const float*, float*, float*, float*,
                                RowsShape, float, cudaStream_t);
template void rms_norm_residual(const __nv_bfloat16*, const __nv_bfloat16*, const __nv_bfloat16*,
                                __nv_bfloat16*, __nv_bfloat16*, float*, RowsShape, float,
                                cudaStream_t);

}  // namespace warpgauge::kernels
