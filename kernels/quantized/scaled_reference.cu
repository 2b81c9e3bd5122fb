// SPDX-License-Identifier: Apache-2.0
// A product of an 8-bit float (4 bits) and its scale (24 bits) is exact in double.
#include "kernels/quantized/arguments.hpp"
#include "kernels/quantized/reference.cuh"

namespace warpgauge::kernels {

/// Element (row, k) of A.
struct ScaledRowsValue {
  ScaledRows a;
  GemmShape shape;
  __device__ double operator()(std::size_t row, std::size_t k) const {
    return static_cast<double>(static_cast<float>(a.values[row * shape.k + k])) *
           a.scales[k / scale_block * shape.m + row];
  }
};

/// Element (k, column) of B.
struct ScaledTilesValue {
  ScaledTiles b;
  std::size_t k_blocks, k_extent;
  __device__ double operator()(std::size_t k, std::size_t column) const {
    return static_cast<double>(static_cast<float>(b.values[column * k_extent + k])) *
           b.scales[column / scale_block * k_blocks + k / scale_block];
  }
};

void scaled_gemm_reference(ScaledRows a, ScaledTiles b, double* expected, GemmShape shape,
                           std::size_t first, std::size_t count, cudaStream_t stream) {
  if (count == 0 || shape.m == 0 || shape.n == 0) {
    return;
  }
  constexpr const char* launcher = "scaled_gemm_reference";
  require_gemm(launcher, a.values, b.values, 1, shape);
  require_arrays(launcher, {{"a_scales", a.scales}, {"b_scales", b.scales}});
  launch_dequantized_reference(launcher, ScaledRowsValue{a, shape},
                               ScaledTilesValue{b, scale_blocks(shape.k), shape.k}, expected, shape,
                               first, count, stream);
}

}  // namespace warpgauge::kernels
