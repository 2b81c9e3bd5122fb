// SPDX-License-Identifier: Apache-2.0
// In double precision: a warp computes four queries, 32 keys at a time, with softmax online. For
// verification; bound by loads from shared memory, about 10 TFLOP/s on an H100.
#include <warpgauge/cuda/arguments.hpp>
#include "kernels/attention/arguments.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned reference_warps = 8;
inline constexpr unsigned reference_rows_of_warp = 4;
inline constexpr unsigned reference_rows = reference_warps * reference_rows_of_warp;
inline constexpr unsigned reference_keys = 32;

/// Rows are padded by one double, so that 32 keys' elements of one column lie in all banks.
template <unsigned D>
struct AttentionReferenceMemory {
  double q[reference_rows][D + 1];
  double tile[reference_keys][D + 1];  ///< of k, then of v
  double powers[reference_rows][reference_keys];
};

__device__ inline double largest_of_warp(double value) {
  for (unsigned step = 16; step > 0; step /= 2) {
    value = fmax(value, __shfl_xor_sync(~0U, value, step));
  }
  return value;
}

__device__ inline double sum_of_warp(double value) {
  for (unsigned step = 16; step > 0; step /= 2) {
    value += __shfl_xor_sync(~0U, value, step);
  }
  return value;
}

/// The window's rows are those of the flattened result: (batch, query, head).
template <unsigned D>
__global__ __launch_bounds__(reference_warps * 32, 2) void attention_reference_kernel(
    const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ k,
    const __nv_bfloat16* __restrict__ v, double* __restrict__ expected, AttentionSizes sizes,
    std::size_t first, std::size_t count, unsigned first_tile) {
  extern __shared__ __align__(16) unsigned char reference_memory[];
  auto& memory = *reinterpret_cast<AttentionReferenceMemory<D>*>(reference_memory);
  const unsigned warp = threadIdx.x / 32 * reference_rows_of_warp;  // its first row
  const unsigned lane = threadIdx.x % 32;
  // Blocks of all heads of a tile of queries follow each other: their outputs are one range.
  const std::size_t tiles = (sizes.length - 1) / reference_rows + 1;
  const std::size_t index = first_tile + blockIdx.x / sizes.heads;
  const unsigned head = blockIdx.x % sizes.heads;
  const std::size_t batch = index / tiles;
  const auto first_row = static_cast<unsigned>(index % tiles * reference_rows);
  const unsigned kv_head = head / (sizes.heads / sizes.kv_heads);
  const auto load = [&](auto& to, const __nv_bfloat16* from, unsigned row, unsigned heads,
                        unsigned of_head) {
    for (unsigned i = threadIdx.x; i < 32 * D; i += reference_warps * 32) {
      const std::size_t at = ((batch * sizes.length + row + i / D) * heads + of_head) * D + i % D;
      to[i / D][i % D] =
          row + i / D < sizes.length ? static_cast<double>(__bfloat162float(from[at])) : 0;
    }
  };
  load(memory.q, q, first_row, sizes.heads, head);
  double largest[reference_rows_of_warp];
  double sums[reference_rows_of_warp] = {};
  double out[reference_rows_of_warp][D / 32] = {};
  for (double& value : largest) {
    value = -INFINITY;
  }
  const unsigned end = sizes.causal ? min(sizes.length, first_row + reference_rows) : sizes.length;
  for (unsigned first_key = 0; first_key < end; first_key += reference_keys) {
    __syncthreads();
    load(memory.tile, k, first_key, sizes.kv_heads, kv_head);
    __syncthreads();
    double scores[reference_rows_of_warp] = {};
    for (unsigned i = 0; i < D; ++i) {
      const double key = memory.tile[lane][i];
#pragma unroll
      for (unsigned row = 0; row < reference_rows_of_warp; ++row) {
        scores[row] += memory.q[warp + row][i] * key;
      }
    }
#pragma unroll
    for (unsigned row = 0; row < reference_rows_of_warp; ++row) {
      const unsigned key = first_key + lane;
      const bool seen = key < sizes.length && (!sizes.causal || key <= first_row + warp + row);
      const double score = seen ? scores[row] / sqrt(static_cast<double>(D)) : -INFINITY;
      const double before = largest[row];
      largest[row] = fmax(before, largest_of_warp(score));
      // Before its first key, a row that a causal tile skips has no largest score.
      const double power = largest[row] == -INFINITY ? 0 : exp(score - largest[row]);
      const double scale = largest[row] == -INFINITY ? 0 : exp(before - largest[row]);
      // fmax() loses NaN.
      sums[row] = sums[row] * scale + sum_of_warp(isnan(score) ? score : power);
      memory.powers[warp + row][lane] = isnan(score) ? score : power;
#pragma unroll
      for (unsigned j = 0; j < D / 32; ++j) {
        out[row][j] *= scale;
      }
    }
    __syncthreads();
    load(memory.tile, v, first_key, sizes.kv_heads, kv_head);
    __syncthreads();
    for (unsigned key = 0; key < reference_keys; ++key) {
#pragma unroll
      for (unsigned j = 0; j < D / 32; ++j) {
        const double value = memory.tile[key][lane + j * 32];
#pragma unroll
        for (unsigned row = 0; row < reference_rows_of_warp; ++row) {
          out[row][j] += memory.powers[warp + row][key] * value;
        }
      }
    }
  }
#pragma unroll
  for (unsigned row = 0; row < reference_rows_of_warp; ++row) {
    const unsigned query = first_row + warp + row;
#pragma unroll
    for (unsigned j = 0; j < D / 32; ++j) {
      const std::size_t at =
          ((batch * sizes.length + query) * sizes.heads + head) * D + lane + j * 32;
      if (query < sizes.length && at >= first && at - first < count) {
        expected[at - first] = out[row][j] / sums[row];
      }
    }
  }
}

void attention_reference(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                         double* expected, AttentionShape shape, std::size_t first,
                         std::size_t count, cudaStream_t stream) {
  if (count == 0 || has_no_elements(shape)) {
    return;
  }
  constexpr const char* launcher = "attention_reference";
  require_attention(launcher, q, k, v, shape);
  require_pointer(launcher, "expected", expected, alignof(double));
  const std::size_t row = shape.heads * shape.head_size;  // of all heads of a query
  require_window(launcher, first, count, shape.batch * shape.length * row, "the result");
  static_cast<void>(attention_blocks(launcher, shape, reference_rows));
  const std::size_t tiles = (shape.length - 1) / reference_rows + 1;
  const auto tile_of = [&](std::size_t element) {
    const std::size_t query = element / row;
    return query / shape.length * tiles + query % shape.length / reference_rows;
  };
  const std::size_t first_tile = tile_of(first);
  const std::size_t blocks = (tile_of(first + count - 1) - first_tile + 1) * shape.heads;
  with_head_size(shape, [&]<unsigned D>(std::integral_constant<unsigned, D>) {
    constexpr std::size_t bytes = sizeof(AttentionReferenceMemory<D>);
    allow_shared_memory(attention_reference_kernel<D>, bytes);
    attention_reference_kernel<D>
        <<<static_cast<unsigned>(blocks), reference_warps * 32, bytes, stream>>>(
            q, k, v, expected, sizes_of(shape), first, count, static_cast<unsigned>(first_tile));
  });
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
