// SPDX-License-Identifier: Apache-2.0
// Each element is read once, 16 bytes at a time, and kept in registers until its block's scale is
// known. Bound by device memory: 3 bytes per element, or 2.5 to 4 bits.
#include "kernels/quantized/quantize.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned quantize_rows_at_once =
    quantize_threads / chunks_of_block;  // 16 lanes per row
inline constexpr unsigned quantize_rows_in_flight = 4;
inline constexpr unsigned quantize_rows_of_block = quantize_rows_at_once * quantize_rows_in_flight;

/// A block has 64 rows of 128 terms. 16 lanes share a row.
__global__ __launch_bounds__(quantize_threads) void quantize_rows_kernel(
    const __nv_bfloat16* __restrict__ in, __nv_fp8_e4m3* __restrict__ values,
    float* __restrict__ scales, std::size_t rows, std::size_t k, std::size_t k_blocks) {
  const std::size_t k_block = blockIdx.x % k_blocks;
  const std::size_t first_row =
      blockIdx.x / k_blocks * quantize_rows_of_block + threadIdx.x / chunks_of_block;
  const std::size_t at = k_block * scale_block + threadIdx.x % chunks_of_block * chunk_values;
  float chunks[quantize_rows_in_flight][chunk_values] = {};
#pragma unroll
  for (unsigned i = 0; i < quantize_rows_in_flight; ++i) {
    const std::size_t row = first_row + i * quantize_rows_at_once;
    if (row < rows && at < k) {
      load_chunk(chunks[i], in + row * k + at);
    }
  }
#pragma unroll
  for (unsigned i = 0; i < quantize_rows_in_flight; ++i) {
    const std::size_t row = first_row + i * quantize_rows_at_once;
    const float largest = largest_of_lanes<chunks_of_block>(largest_magnitude(chunks[i], 0));
    if (row < rows && at < k) {
      store_chunk(values + row * k + at, chunks[i], e4m3_factor(largest));
      if (threadIdx.x % chunks_of_block == 0) {
        scales[k_block * rows + row] = e4m3_scale(largest);
      }
    }
  }
}

/// A block has one scale: 128 rows of 128 terms, eight chunks per thread.
__global__ __launch_bounds__(quantize_threads) void quantize_tiles_kernel(
    const __nv_bfloat16* __restrict__ in, __nv_fp8_e4m3* __restrict__ values,
    float* __restrict__ scales, std::size_t rows, std::size_t k, std::size_t k_blocks) {
  __shared__ float of_warps[quantize_threads / 32];
  constexpr unsigned chunks_of_thread = scale_block / quantize_rows_at_once;
  const std::size_t first_row = blockIdx.x / k_blocks * scale_block + threadIdx.x / chunks_of_block;
  const std::size_t at =
      blockIdx.x % k_blocks * scale_block + threadIdx.x % chunks_of_block * chunk_values;
  float chunks[chunks_of_thread][chunk_values] = {};
#pragma unroll
  for (unsigned i = 0; i < chunks_of_thread; ++i) {
    const std::size_t row = first_row + i * quantize_rows_at_once;
    if (row < rows && at < k) {
      load_chunk(chunks[i], in + row * k + at);
    }
  }
  float largest = 0;
#pragma unroll
  for (const auto& chunk : chunks) {
    largest = largest_magnitude(chunk, largest);
  }
  largest = largest_of_lanes<32>(largest);
  if (threadIdx.x % 32 == 0) {
    of_warps[threadIdx.x / 32] = largest;
  }
  __syncthreads();
#pragma unroll
  for (const float of_warp : of_warps) {
    largest = fmaxf(largest, of_warp);
  }
#pragma unroll
  for (unsigned i = 0; i < chunks_of_thread; ++i) {
    const std::size_t row = first_row + i * quantize_rows_at_once;
    if (row < rows && at < k) {
      store_chunk(values + row * k + at, chunks[i], e4m3_factor(largest));
    }
  }
  if (threadIdx.x == 0) {
    scales[blockIdx.x] = e4m3_scale(largest);
  }
}

/// 4-bit integers of one scale without a division per element. In scales, bf16 values lie halfway
/// between two integers or at least 2^-9 beside it. So a multiple of 2^-11 next to the product with
/// the reciprocal, whose error is below 2^-20, rounds to the same integer, also halfway.
struct Int4Rounding {
  static constexpr float to_2_11 = 0x1.8p12F;  ///< a sum with it is a multiple of 2^-11
  static constexpr float to_1 = 0x1.8p23F;     ///< a multiple of 1, in the lowest bits
  /// The bits of to_1 times 16^i, summed over the eight nibbles of a word.
  static constexpr unsigned bits_in_word = 0x4B40'0000U * 0x1111'1111U;

  float reciprocal;

  /// The bits of to_1, and in the lowest ones 8 + the integer.
  __device__ unsigned operator()(float value) const {
    return __float_as_uint(fmaf(value, reciprocal, to_2_11) + (to_1 + 8 - to_2_11));
  }
};

/// Two bf16 of which each is the larger magnitude of those of a and of all two in b.
__device__ inline __nv_bfloat162 largest_of_two(__nv_bfloat162 a, const uint4& b) {
  __nv_bfloat162 two[4];
  std::memcpy(two, &b, sizeof(b));
#pragma unroll
  for (const __nv_bfloat162 of_chunk : two) {
    a = __hmax2(a, __habs2(of_chunk));
  }
  return a;
}

/// A warp has one piece of Int4Weights. Lane 4 g + t has the columns g and g + 8, and of each half
/// of the terms 16 from 16 t on: what its eight words hold.
__global__ __launch_bounds__(quantize_threads) void quantize_int4_kernel(
    const __nv_bfloat16* __restrict__ in, std::uint32_t* __restrict__ words,
    __nv_bfloat16* __restrict__ scales, std::size_t rows, std::size_t k) {
  const std::size_t piece = std::size_t{blockIdx.x} * (quantize_threads / 32) + threadIdx.x / 32;
  const std::size_t groups = k / int4_group;
  if (piece >= rows / 16 * groups) {
    return;
  }
  const std::size_t group = piece % groups;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t first_column = piece / groups * 16 + lane / 4;
  uint4 chunks[2][4];  // of columns; of halves and chunks in them
  Int4Rounding round[2];
#pragma unroll
  for (unsigned of_column = 0; of_column < 2; ++of_column) {
    const __nv_bfloat16* const from =
        in + (first_column + of_column * 8) * k + group * int4_group + lane % 4 * 16;
#pragma unroll
    for (unsigned chunk = 0; chunk < 4; ++chunk) {
      chunks[of_column][chunk] =
          __ldcs(reinterpret_cast<const uint4*>(from + chunk / 2 * 64 + chunk % 2 * chunk_values));
    }
  }
#pragma unroll
  for (unsigned of_column = 0; of_column < 2; ++of_column) {
    __nv_bfloat162 two{};
#pragma unroll
    for (const uint4& chunk : chunks[of_column]) {
      two = largest_of_two(two, chunk);
    }
    const float largest = fmaxf(__low2float(two), __high2float(two));
    const __nv_bfloat16 scale = int4_scale(largest_of_lanes<4>(largest));
    round[of_column].reciprocal = __frcp_rn(__bfloat162float(scale));
    if (lane % 4 == 0) {
      scales[group * rows + first_column + of_column * 8] = scale;
    }
  }
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    float values[2][2][chunk_values];
#pragma unroll
    for (unsigned of_column = 0; of_column < 2; ++of_column) {
      to_floats(values[of_column][0], chunks[of_column][half * 2]);
      to_floats(values[of_column][1], chunks[of_column][half * 2 + 1]);
    }
    std::uint32_t four[4] = {};
#pragma unroll
    for (unsigned word = 0; word < 4; ++word) {
#pragma unroll
      for (unsigned nibble = 8; nibble-- > 0;) {  // as int4_place()
        const unsigned term = word % 2 * 4 + nibble / 2 % 2 * 2 + nibble / 4;
        four[word] = four[word] * 16 + round[nibble % 2](values[nibble % 2][word / 2][term]);
      }
      four[word] -= Int4Rounding::bits_in_word;
    }
    reinterpret_cast<uint4*>(words)[piece * 64 + half * 32 + lane] = {four[0], four[1], four[2],
                                                                      four[3]};
  }
}

void quantize_rows(const __nv_bfloat16* in, __nv_fp8_e4m3* values, float* scales, std::size_t rows,
                   std::size_t k, cudaStream_t stream) {
  if (rows == 0 || k == 0) {
    return;
  }
  constexpr const char* launcher = "quantize_rows";
  require_quantize(launcher, in, values, scales, rows, k);
  const std::size_t row_blocks = (rows - 1) / quantize_rows_of_block + 1;
  const unsigned blocks = blocks_for(launcher, row_blocks * scale_blocks(k), 1);
  quantize_rows_kernel<<<blocks, quantize_threads, 0, stream>>>(in, values, scales, rows, k,
                                                                scale_blocks(k));
  WARPGAUGE_CHECK(cudaGetLastError());
}

void quantize_tiles(const __nv_bfloat16* in, __nv_fp8_e4m3* values, float* scales, std::size_t rows,
                    std::size_t k, cudaStream_t stream) {
  if (rows == 0 || k == 0) {
    return;
  }
  constexpr const char* launcher = "quantize_tiles";
  require_quantize(launcher, in, values, scales, rows, k);
  const unsigned blocks = blocks_for(launcher, scale_blocks(rows) * scale_blocks(k), 1);
  quantize_tiles_kernel<<<blocks, quantize_threads, 0, stream>>>(in, values, scales, rows, k,
                                                                 scale_blocks(k));
  WARPGAUGE_CHECK(cudaGetLastError());
}

void quantize_int4(const __nv_bfloat16* in, std::uint32_t* words, __nv_bfloat16* scales,
                   std::size_t rows, std::size_t k, cudaStream_t stream) {
  if (rows == 0 || k == 0) {
    return;
  }
  constexpr const char* launcher = "quantize_int4";
  require_quantize_int4(launcher, in, words, scales, rows, k);
  const unsigned blocks = blocks_for(launcher, rows / 16 * (k / int4_group), quantize_threads / 32);
  quantize_int4_kernel<<<blocks, quantize_threads, 0, stream>>>(in, words, scales, rows, k);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
