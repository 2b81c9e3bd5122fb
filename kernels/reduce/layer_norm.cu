// SPDX-License-Identifier: Apache-2.0
// The row stays in registers between its three uses (mean, variance, result). Bound by device
// memory, which is read once and written once; gamma and beta come from the caches.
#include "kernels/reduce/row_in_registers.cuh"
#include "kernels/reduce/row_launch.cuh"

namespace warpgauge::kernels {

template <class T, class Shape>
__global__ __launch_bounds__(Shape::threads, Shape::least_blocks_per_sm) void layer_norm_kernel(
    const T* __restrict__ in, const T* __restrict__ gamma, const T* __restrict__ beta,
    T* __restrict__ out, std::size_t rows, unsigned row_vectors, float epsilon) {
  constexpr unsigned n = vector_elements<T>;
  __shared__ typename RowGroup<Shape>::Storage storage;
  RowGroup<Shape> group(storage);
  const unsigned first = group.first();
  const unsigned zero = row_vectors >> 31;  // a row has at most 2^14
  const uint4* const factors = reinterpret_cast<const uint4*>(gamma) + first;
  const uint4* const offsets = reinterpret_cast<const uint4*>(beta) + first;
  const float per_element = 1.0F / static_cast<float>(row_vectors * n);
  for (std::size_t row = blockIdx.x / Shape::blocks; row < rows; row += gridDim.x / Shape::blocks) {
    const uint4* const from = reinterpret_cast<const uint4*>(in) + row * row_vectors + first;
    uint4* const to = reinterpret_cast<uint4*>(out) + row * row_vectors + first;
    uint4 held[Shape::vectors];
    hold_row<Shape>(held, from, first, row_vectors);
    float sum = 0;
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      float x[n];
      unpack(held[j], x);
      sum += fold(x, Plus{});
    }
    const float mean = group.reduce(sum, 0.0F, Plus{}) * per_element;
    float squares = 0;
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      if (first + j * Shape::step < row_vectors) {
        float x[n];
        forget_unpacked<T>(held[j], zero);
        unpack(held[j], x);
#pragma unroll
        for (unsigned i = 0; i < n; ++i) {
          x[i] = (x[i] - mean) * (x[i] - mean);
        }
        squares += fold(x, Plus{});
      }
    }
    const float variance = group.reduce(squares, 0.0F, Plus{}) * per_element;
    const float scale = rsqrtf(variance + epsilon);
    // A few vectors of gamma and beta at a time, because the row occupies the registers.
    constexpr unsigned few = n == 4 && Shape::vectors % 2 == 0 && Shape::vectors <= 4 ? 2 : 1;
#pragma unroll
    for (unsigned i = 0; i < Shape::vectors; i += few) {
      uint4 factor_bits[few];
      uint4 offset_bits[few];
#pragma unroll
      for (unsigned k = 0; k < few; ++k) {
        if (first + (i + k) * Shape::step < row_vectors) {
          factor_bits[k] = factors[(i + k) * Shape::step];
          offset_bits[k] = offsets[(i + k) * Shape::step];
        }
      }
#pragma unroll
      for (unsigned k = 0; k < few; ++k) {
        if (first + (i + k) * Shape::step < row_vectors) {
          float x[n];
          float factor[n];
          float offset[n];
          forget_unpacked<T>(held[i + k], zero);
          unpack(held[i + k], x);
          unpack(factor_bits[k], factor);
          unpack(offset_bits[k], offset);
#pragma unroll
          for (unsigned e = 0; e < n; ++e) {
            x[e] = (x[e] - mean) * scale * factor[e] + offset[e];
          }
          __stcs(to + (i + k) * Shape::step, pack(x));
        }
      }
    }
  }
}

template <class T>
void layer_norm(const T* in, const T* gamma, const T* beta, T* out, RowsShape shape, float epsilon,
                cudaStream_t stream) {
  if (shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_held_rows<T>("layer_norm", shape);
  require_arrays("layer_norm", {{"in", in, sizeof(uint4)},
                                {"gamma", gamma, sizeof(uint4)},
                                {"beta", beta, sizeof(uint4)},
                                {"out", out, sizeof(uint4)}});
  with_row_shape<T>(shape, [&]<class Shape>(Shape, unsigned row_vectors) {
    launch_rows<Shape, layer_norm_kernel<T, Shape>>("layer_norm", shape.rows, stream, in, gamma,
                                                    beta, out, shape.rows, row_vectors, epsilon);
  });
}

template void layer_norm(const float*, const float*, const float*, float*, RowsShape, float,
                         cudaStream_t);
template void layer_norm(const __nv_bfloat16*, const __nv_bfloat16*, const __nv_bfloat16*,
                         __nv_bfloat16*, RowsShape, float, cudaStream_t);

}  // namespace warpgauge::kernels
