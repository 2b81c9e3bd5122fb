// SPDX-License-Identifier: Apache-2.0
// RMS norm and its quantisation to e4m3 in one pass. Both factors of a row are known before the
// first element is rounded: the norm's scale is the same for all elements, so the largest |y| is
// that scale times the largest |x gamma|. Bound by device memory: 2 bytes read, 1 written.
#include "kernels/norm/norm.hpp"
#include "kernels/reduce/row_in_registers.cuh"
#include "kernels/reduce/row_launch.cuh"

namespace warpgauge::kernels {

inline constexpr float largest_e4m3 = 448.0F;
inline constexpr float least_largest = 0x1p-119F;  // 448 divided by less may be infinity

/// Eight floats, each at most 448 but for rounding.
__device__ inline uint2 as_e4m3(const float (&x)[8]) {
  unsigned pairs[4];
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) {
    pairs[j] =
        __nv_cvt_float2_to_fp8x2(make_float2(x[2 * j], x[2 * j + 1]), __NV_SATFINITE, __NV_E4M3);
  }
  return make_uint2(pairs[0] | pairs[1] << 16, pairs[2] | pairs[3] << 16);
}

template <class Shape>
__global__ __launch_bounds__(Shape::threads, Shape::least_blocks_per_sm) void rms_norm_e4m3_kernel(
    const __nv_bfloat16* __restrict__ in, const __nv_bfloat16* __restrict__ gamma,
    __nv_fp8_e4m3* __restrict__ out, float* __restrict__ scales, std::size_t rows,
    unsigned row_vectors, float epsilon) {
  using T = __nv_bfloat16;
  constexpr unsigned n = vector_elements<T>;
  __shared__ typename RowGroup<Shape>::Storage storage;
  RowGroup<Shape> group(storage);
  const unsigned first = group.first();
  const unsigned zero = row_vectors >> 31;  // a row has at most 2^14
  const uint4* const factors = reinterpret_cast<const uint4*>(gamma) + first;
  const float per_element = 1.0F / static_cast<float>(row_vectors * n);
  for (std::size_t row = blockIdx.x / Shape::blocks; row < rows; row += gridDim.x / Shape::blocks) {
    const uint4* const from = reinterpret_cast<const uint4*>(in) + row * row_vectors + first;
    uint2* const to = reinterpret_cast<uint2*>(out) + row * row_vectors + first;
    uint4 held[Shape::vectors];
    hold_row<Shape>(held, from, first, row_vectors);
    float squares = 0;
    float largest = 0;
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      if (first + j * Shape::step < row_vectors) {
        float x[n];
        float factor[n];
        unpack(factors[j * Shape::step], factor);
        unpack(held[j], x);
#pragma unroll
        for (unsigned e = 0; e < n; ++e) {
          factor[e] = fabsf(x[e] * factor[e]);
          x[e] *= x[e];
        }
        squares += fold(x, Plus{});
        largest = fmaxf(largest, fold(factor, Larger{}));
      }
    }
    squares = group.reduce(squares, 0.0F, Plus{});
    largest = group.reduce(largest, 0.0F, Larger{});
    largest = largest > 0 ? fmaxf(largest, least_largest) : 0.0F;
    if (first == 0) {
      // Without epsilon, a row of zeros would have infinity times 0. Squares may be 0 without that,
      // and NaN does not show in `largest`.
      scales[row] = squares == 0 && largest == 0
                        ? 0.0F
                        : rsqrtf(squares * per_element + epsilon) * largest * (1.0F / largest_e4m3);
    }
    const float factor_of_row = largest > 0 ? largest_e4m3 / largest : 0.0F;
#pragma unroll
    for (unsigned j = 0; j < Shape::vectors; ++j) {
      if (first + j * Shape::step < row_vectors) {
        float x[n];
        float factor[n];
        unpack(factors[j * Shape::step], factor);
        forget_unpacked<T>(held[j], zero);
        unpack(held[j], x);
#pragma unroll
        for (unsigned e = 0; e < n; ++e) {
          x[e] = x[e] * factor[e] * factor_of_row;
        }
        __stcs(to + j * Shape::step, as_e4m3(x));
      }
    }
  }
}

void rms_norm_e4m3(const __nv_bfloat16* in, const __nv_bfloat16* gamma, __nv_fp8_e4m3* out,
                   float* scales, RowsShape shape, float epsilon, cudaStream_t stream) {
  if (shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_held_rows<__nv_bfloat16>("rms_norm_e4m3", shape);
  require_arrays("rms_norm_e4m3", {{"in", in, sizeof(uint4)},
                                   {"gamma", gamma, sizeof(uint4)},
                                   {"out", out, sizeof(uint2)},
                                   {"scales", scales}});
  const auto launch = [&]<class Shape>(Shape, unsigned row_vectors) {
    launch_rows<Shape, rms_norm_e4m3_kernel<Shape>>("rms_norm_e4m3", shape.rows, stream, in, gamma,
                                                    out, scales, shape.rows, row_vectors, epsilon);
  };
  // Two reductions behind barriers would take longer than so short a row.
  using ShortRow = RowShape<32, 4>;
  constexpr std::size_t short_columns = ShortRow::most_vectors * vector_elements<__nv_bfloat16>;
  if (shape.columns <= short_columns) {
    launch(ShortRow{}, static_cast<unsigned>(shape.columns / vector_elements<__nv_bfloat16>));
  } else {
    with_row_shape<__nv_bfloat16>(shape, launch);
  }
}

}  // namespace warpgauge::kernels
