// SPDX-License-Identifier: Apache-2.0
// The row stays in registers between its three uses (largest element, sum, result). Bound by device
// memory, which is read once and written once.
#include "kernels/reduce/row_in_registers.cuh"
#include "kernels/reduce/row_launch.cuh"

namespace warpgauge::kernels {

template <class T, class Shape>
__global__ __launch_bounds__(Shape::threads, Shape::least_blocks_per_sm) void softmax_kernel(
    const T* __restrict__ in, T* __restrict__ out, std::size_t rows, unsigned row_vectors) {
  constexpr unsigned n = vector_elements<T>;
  __shared__ typename RowGroup<Shape>::Storage storage;
  RowGroup<Shape> group(storage);
  const unsigned first = group.first();
  const unsigned zero = row_vectors >> 31;  // a row has at most 2^14
  for (std::size_t row = blockIdx.x / Shape::blocks; row < rows; row += gridDim.x / Shape::blocks) {
    const uint4* const from = reinterpret_cast<const uint4*>(in) + row * row_vectors + first;
    uint4* const to = reinterpret_cast<uint4*>(out) + row * row_vectors + first;
    uint4 held[Shape::vectors];
    hold_row<Shape>(held, from, first, row_vectors, nothing<T>());
    float largest = -INFINITY;
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      float x[n];
      unpack(held[j], x);
      largest = fmaxf(largest, fold(x, Larger{}));
    }
    largest = group.reduce(largest, -INFINITY, Larger{});
    float sum = 0;
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      float x[n];
      forget_unpacked<T>(held[j], zero);
      unpack(held[j], x);
#pragma unroll
      for (unsigned i = 0; i < n; ++i) {
        x[i] = power_of_e(x[i] - largest);
      }
      sum += fold(x, Plus{});
      if constexpr (sizeof(T) == sizeof(float)) {
        held[j] = pack(x);
      }
    }
    sum = group.reduce(sum, 0.0F, Plus{});
    const float scale = 1.0F / sum;
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      float x[n];
      forget_unpacked<T>(held[j], zero);
      unpack(held[j], x);
#pragma unroll
      for (unsigned i = 0; i < n; ++i) {
        // Powers of bf16 do not fit in the place of the inputs; computing them twice is cheaper.
        x[i] = scale * (sizeof(T) == sizeof(float) ? x[i] : power_of_e(x[i] - largest));
      }
      if (first + j * Shape::step < row_vectors) {
        __stcs(to + j * Shape::step, pack(x));
      }
    }
  }
}

template <class T>
void softmax(const T* in, T* out, RowsShape shape, cudaStream_t stream) {
  if (shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_held_rows<T>("softmax", shape);
  require_arrays("softmax", {{"in", in, sizeof(uint4)}, {"out", out, sizeof(uint4)}});
  with_row_shape<T>(shape, [&]<class Shape>(Shape, unsigned row_vectors) {
    launch_rows<Shape, softmax_kernel<T, Shape>>("softmax", shape.rows, stream, in, out, shape.rows,
                                                 row_vectors);
  });
}

template void softmax(const float*, float*, RowsShape, cudaStream_t);
template void softmax(const __nv_bfloat16*, __nv_bfloat16*, RowsShape, cudaStream_t);

}  // namespace warpgauge::kernels
