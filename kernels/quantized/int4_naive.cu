// SPDX-License-Identifier: Apache-2.0
// One output per thread, which finds each of its weights in the packed order. Bound by that: dozens
// of integer instructions for a multiply-add.
#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include "kernels/quantized/int4_arguments.hpp"
#include "kernels/quantized/reference.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned int4_naive_threads = 128;

__global__ __launch_bounds__(int4_naive_threads) void int4_gemm_naive_kernel(
    const __nv_bfloat16* __restrict__ a, Int4Weights w, __nv_bfloat16* __restrict__ c,
    GemmShape shape) {
  const std::size_t i = std::size_t{blockIdx.x} * int4_naive_threads + threadIdx.x;
  const std::size_t row = i / shape.n;
  const std::size_t column = i % shape.n;
  if (row >= shape.m) {
    return;
  }
  float sum = 0;
  for (std::size_t k = 0; k < shape.k; ++k) {
    const Int4Place place = int4_place(k, column, shape.k);
    const auto q = static_cast<float>(w.words[place.word] >> place.shift & 15U) - 8;
    sum += __bfloat162float(a[row * shape.k + k]) *
           (q * __bfloat162float(w.scales[k / int4_group * shape.n + column]));
  }
  c[i] = __float2bfloat16_rn(sum);
}

void int4_gemm_naive(const __nv_bfloat16* a, Int4Weights w, __nv_bfloat16* c, GemmShape shape,
                     cudaStream_t stream) {
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  constexpr const char* launcher = "int4_gemm_naive";
  require_int4(launcher, a, w, shape);
  require_pointer(launcher, "c", c, chunk_bytes);
  const unsigned blocks = blocks_for(launcher, shape.m * shape.n, int4_naive_threads);
  int4_gemm_naive_kernel<<<blocks, int4_naive_threads, 0, stream>>>(a, w, c, shape);
  WARPGAUGE_CHECK(cudaGetLastError());
}

/// Element (row, k) of A.
struct Bf16Value {
  const __nv_bfloat16* a;
  std::size_t k_extent;
  __device__ double operator()(std::size_t row, std::size_t k) const {
    return static_cast<double>(__bfloat162float(a[row * k_extent + k]));
  }
};

/// Element (k, column) of W: exact, a product of 4 and 8 bits.
struct Int4Value {
  Int4Weights w;
  GemmShape shape;
  __device__ double operator()(std::size_t k, std::size_t column) const {
    const Int4Place place = int4_place(k, column, shape.k);
    const auto q = static_cast<float>(w.words[place.word] >> place.shift & 15U) - 8;
    return static_cast<double>(q * __bfloat162float(w.scales[k / int4_group * shape.n + column]));
  }
};

void int4_gemm_reference(const __nv_bfloat16* a, Int4Weights w, double* expected, GemmShape shape,
                         std::size_t first, std::size_t count, cudaStream_t stream) {
  if (count == 0 || shape.m == 0 || shape.n == 0) {
    return;
  }
  constexpr const char* launcher = "int4_gemm_reference";
  require_int4(launcher, a, w, shape);
  launch_dequantized_reference(launcher, Bf16Value{a, shape.k}, Int4Value{w, shape}, expected,
                               shape, first, count, stream);
}

}  // namespace warpgauge::kernels
