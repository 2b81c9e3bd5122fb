// SPDX-License-Identifier: Apache-2.0
// A thread or a block per scale, element by element. Bound by latency, and by reading every element
// several times: for its block's scale first, then to be rounded.
#include "kernels/quantized/quantize.cuh"

namespace warpgauge::kernels {

__global__ __launch_bounds__(quantize_threads) void quantize_rows_naive_kernel(
    const __nv_bfloat16* __restrict__ in, __nv_fp8_e4m3* __restrict__ values,
    float* __restrict__ scales, std::size_t rows, std::size_t k) {
  const std::size_t i = std::size_t{blockIdx.x} * quantize_threads + threadIdx.x;
  const std::size_t row = i % rows;
  const std::size_t first = i / rows * scale_block;
  if (first >= k) {
    return;
  }
  const std::size_t end = min(first + scale_block, k);
  float largest = 0;
  for (std::size_t at = first; at < end; ++at) {
    largest = fmaxf(largest, fabsf(__bfloat162float(in[row * k + at])));
  }
  for (std::size_t at = first; at < end; ++at) {
    values[row * k + at] = __nv_fp8_e4m3(__bfloat162float(in[row * k + at]) * e4m3_factor(largest));
  }
  scales[i] = e4m3_scale(largest);
}

__global__ __launch_bounds__(quantize_threads) void quantize_tiles_naive_kernel(
    const __nv_bfloat16* __restrict__ in, __nv_fp8_e4m3* __restrict__ values,
    float* __restrict__ scales, std::size_t rows, std::size_t k, std::size_t k_blocks) {
  __shared__ float of_warps[quantize_threads / 32];
  const std::size_t first_row = blockIdx.x / k_blocks * scale_block;
  const std::size_t first = blockIdx.x % k_blocks * scale_block;
  const auto for_each = [&](const auto& use) {
    for (unsigned i = threadIdx.x; i < scale_block * scale_block; i += quantize_threads) {
      const std::size_t row = first_row + i / scale_block;
      const std::size_t at = first + i % scale_block;
      if (row < rows && at < k) {
        use(row * k + at);
      }
    }
  };
  float largest = 0;
  for_each([&](std::size_t i) { largest = fmaxf(largest, fabsf(__bfloat162float(in[i]))); });
  largest = largest_of_lanes<32>(largest);
  if (threadIdx.x % 32 == 0) {
    of_warps[threadIdx.x / 32] = largest;
  }
  __syncthreads();
  for (const float of_warp : of_warps) {
    largest = fmaxf(largest, of_warp);
  }
  for_each([&](std::size_t i) {
    values[i] = __nv_fp8_e4m3(__bfloat162float(in[i]) * e4m3_factor(largest));
  });
  if (threadIdx.x == 0) {
    scales[blockIdx.x] = e4m3_scale(largest);
  }
}

/// Weight (row, k) in 4 bits, by its group's scale.
__device__ inline unsigned int4_at(const __nv_bfloat16* in, float scale, std::size_t row,
                                   std::size_t at, std::size_t k) {
  return int4_of(__bfloat162float(in[row * k + at]), scale);
}

/// Word i of Int4Weights: its column and the first of its terms. See int4_place().
struct Int4Word {
  std::size_t column, term;
  __device__ Int4Word(std::size_t i, std::size_t k) {
    const std::size_t piece = i / 256;
    const auto in_piece = static_cast<unsigned>(i % 256);
    const unsigned lane = in_piece % 128 / 4;
    column = piece / (k / int4_group) * 16 + lane / 4;
    term = piece % (k / int4_group) * int4_group + in_piece / 128 * 64 + lane % 4 * 16 +
           in_piece % 4 * 4;
  }
};

/// The word, by the scales of its two columns: scale(column).
template <class Scale>
__device__ inline std::uint32_t int4_word(const __nv_bfloat16* in, Int4Word word, std::size_t k,
                                          const Scale& scale) {
  std::uint32_t bits = 0;
  for (unsigned half = 0; half < 2; ++half) {
    const std::size_t column = word.column + half * 8;
    const float by = scale(column);
    for (unsigned i = 0; i < 4; ++i) {
      bits |= int4_at(in, by, column, word.term + i, k)
              << int4_place(word.term + i, column, k).shift;
    }
  }
  return bits;
}

__global__ __launch_bounds__(quantize_threads) void quantize_int4_naive_kernel(
    const __nv_bfloat16* __restrict__ in, std::uint32_t* __restrict__ words,
    __nv_bfloat16* __restrict__ scales, std::size_t rows, std::size_t k) {
  const std::size_t i = std::size_t{blockIdx.x} * quantize_threads + threadIdx.x;
  if (i >= rows * k / 8) {
    return;
  }
  const Int4Word word(i, k);
  const std::size_t group = word.term / int4_group;
  words[i] = int4_word(in, word, k, [&](std::size_t column) {
    float largest = 0;
    for (std::size_t at = group * int4_group; at < (group + 1) * int4_group; ++at) {
      largest = fmaxf(largest, fabsf(__bfloat162float(in[column * k + at])));
    }
    const __nv_bfloat16 scale = int4_scale(largest);
    if (word.term % int4_group == 0) {
      scales[group * rows + column] = scale;
    }
    return __bfloat162float(scale);
  });
}

__global__ __launch_bounds__(quantize_threads) void quantize_reference_kernel(
    const __nv_bfloat16* __restrict__ in, const float* __restrict__ scales, ScaleLayout layout,
    double* __restrict__ expected, std::size_t k, std::size_t first, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * quantize_threads + threadIdx.x;
  if (i < count) {
    const std::size_t row = (first + i) / k;
    const std::size_t block = (first + i) % k / scale_block;
    const float scale =
        scales[row / layout.rows_of_block * layout.row_stride + block * layout.k_stride];
    expected[i] = static_cast<double>(__bfloat162float(in[first + i])) / scale;
  }
}

__global__ __launch_bounds__(quantize_threads) void quantize_int4_reference_kernel(
    const __nv_bfloat16* __restrict__ in, const __nv_bfloat16* __restrict__ scales,
    double* __restrict__ expected, std::size_t rows, std::size_t k, std::size_t first,
    std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * quantize_threads + threadIdx.x;
  if (i < count) {
    const Int4Word word(first + i, k);
    expected[i] = int4_word(in, word, k, [&](std::size_t column) {
      return __bfloat162float(scales[word.term / int4_group * rows + column]);
    });
  }
}

void quantize_rows_naive(const __nv_bfloat16* in, __nv_fp8_e4m3* values, float* scales,
                         std::size_t rows, std::size_t k, cudaStream_t stream) {
  if (rows == 0 || k == 0) {
    return;
  }
  constexpr const char* launcher = "quantize_rows_naive";
  require_quantize(launcher, in, values, scales, rows, k);
  const unsigned blocks = blocks_for(launcher, rows * scale_blocks(k), quantize_threads);
  quantize_rows_naive_kernel<<<blocks, quantize_threads, 0, stream>>>(in, values, scales, rows, k);
  WARPGAUGE_CHECK(cudaGetLastError());
}

void quantize_tiles_naive(const __nv_bfloat16* in, __nv_fp8_e4m3* values, float* scales,
                          std::size_t rows, std::size_t k, cudaStream_t stream) {
  if (rows == 0 || k == 0) {
    return;
  }
  constexpr const char* launcher = "quantize_tiles_naive";
  require_quantize(launcher, in, values, scales, rows, k);
  const unsigned blocks = blocks_for(launcher, scale_blocks(rows) * scale_blocks(k), 1);
  quantize_tiles_naive_kernel<<<blocks, quantize_threads, 0, stream>>>(in, values, scales, rows, k,
                                                                       scale_blocks(k));
  WARPGAUGE_CHECK(cudaGetLastError());
}

void quantize_int4_naive(const __nv_bfloat16* in, std::uint32_t* words, __nv_bfloat16* scales,
                         std::size_t rows, std::size_t k, cudaStream_t stream) {
  if (rows == 0 || k == 0) {
    return;
  }
  constexpr const char* launcher = "quantize_int4_naive";
  require_quantize_int4(launcher, in, words, scales, rows, k);
  const unsigned blocks = blocks_for(launcher, rows * k / 8, quantize_threads);
  quantize_int4_naive_kernel<<<blocks, quantize_threads, 0, stream>>>(in, words, scales, rows, k);
  WARPGAUGE_CHECK(cudaGetLastError());
}

void quantize_reference(const __nv_bfloat16* in, const float* scales, ScaleLayout layout,
                        double* expected, std::size_t rows, std::size_t k, std::size_t first,
                        std::size_t count, cudaStream_t stream) {
  if (count == 0 || rows == 0 || k == 0) {
    return;
  }
  constexpr const char* launcher = "quantize_reference";
  require_quantize_shape(launcher, rows, k);
  require_window(launcher, first, count, rows * k, "the matrix");
  require_arrays(launcher, {{"in", in}, {"scales", scales}, {"expected", expected}});
  quantize_reference_kernel<<<blocks_for(launcher, count, quantize_threads), quantize_threads, 0,
                              stream>>>(in, scales, layout, expected, k, first, count);
  WARPGAUGE_CHECK(cudaGetLastError());
}

void quantize_int4_reference(const __nv_bfloat16* in, const __nv_bfloat16* scales, double* expected,
                             std::size_t rows, std::size_t k, std::size_t first, std::size_t count,
                             cudaStream_t stream) {
  if (count == 0 || rows == 0 || k == 0) {
    return;
  }
  constexpr const char* launcher = "quantize_int4_reference";
  require_quantize_int4_shape(launcher, rows, k);
  require_window(launcher, first, count, rows * k / 8, "the words");
  require_arrays(launcher, {{"in", in}, {"scales", scales}, {"expected", expected}});
  quantize_int4_reference_kernel<<<blocks_for(launcher, count, quantize_threads), quantize_threads,
                                   0, stream>>>(in, scales, expected, rows, k, first, count);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
