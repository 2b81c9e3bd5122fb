// SPDX-License-Identifier: Apache-2.0
// One block per query: all scores into a row of shared memory, softmax of the row, then its product
// with V. Bound by load instructions: each key and value is read again for each query, and each
// loaded byte is used in one operation.
#include <cuda_bf16.h>

#include <warpgauge/cuda/arguments.hpp>
#include "kernels/attention/arguments.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned naive_threads = 128;

/// Folds `value` over the block; every thread has the result.
template <class Fold>
__device__ float over_block(float value, float (&scratch)[naive_threads / 32], const Fold& fold) {
  for (unsigned step = 16; step > 0; step /= 2) {
    value = fold(value, __shfl_xor_sync(~0U, value, step));
  }
  __syncthreads();  // an earlier call may still read scratch
  if (threadIdx.x % 32 == 0) {
    scratch[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = scratch[0];
  for (unsigned i = 1; i < naive_threads / 32; ++i) {
    value = fold(value, scratch[i]);
  }
  return value;
}

template <unsigned D>
__global__ __launch_bounds__(naive_threads) void attention_naive_kernel(
    const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ k,
    const __nv_bfloat16* __restrict__ v, __nv_bfloat16* __restrict__ out, AttentionSizes sizes) {
  extern __shared__ float scores[];
  __shared__ float query[D];
  __shared__ float scratch[naive_threads / 32];
  const unsigned head = blockIdx.x % sizes.heads;
  const std::size_t row = blockIdx.x / sizes.heads;  // of all queries of the batch
  const std::size_t first_key = row / sizes.length * sizes.length;
  const unsigned keys = sizes.causal ? static_cast<unsigned>(row - first_key) + 1 : sizes.length;
  const std::size_t key_stride = std::size_t{sizes.kv_heads} * D;
  const std::size_t own_keys =
      first_key * key_stride + head / (sizes.heads / sizes.kv_heads) * std::size_t{D};
  const std::size_t own_query = (row * sizes.heads + head) * D;
  if (threadIdx.x < D) {
    query[threadIdx.x] = __bfloat162float(q[own_query + threadIdx.x]) * sizes.scale;
  }
  __syncthreads();
  float largest = -INFINITY;
  for (unsigned key = threadIdx.x; key < keys; key += naive_threads) {
    const __nv_bfloat16* const from = k + own_keys + key * key_stride;
    float score = 0;
    for (unsigned i = 0; i < D; ++i) {
      score += query[i] * __bfloat162float(from[i]);
    }
    scores[key] = score;
    largest = fmaxf(largest, score);
  }
  largest = over_block(largest, scratch, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
  for (unsigned key = threadIdx.x; key < keys; key += naive_threads) {
    scores[key] = exp2f(scores[key] - largest);
    sum += scores[key];
  }
  sum = over_block(sum, scratch, [](float a, float b) { return a + b; });
  if (threadIdx.x < D) {
    const __nv_bfloat16* const from = v + own_keys + threadIdx.x;
    float result = 0;
    for (unsigned key = 0; key < keys; ++key) {
      result += scores[key] * __bfloat162float(from[key * key_stride]);
    }
    out[own_query + threadIdx.x] = __float2bfloat16(result / sum);
  }
}

void attention_naive(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                     __nv_bfloat16* out, AttentionShape shape, cudaStream_t stream) {
  if (has_no_elements(shape)) {
    return;
  }
  constexpr const char* launcher = "attention_naive";
  require_attention(launcher, q, k, v, shape);
  require_pointer(launcher, "out", out, 16);
  require_at_most(launcher, shape.length, most_naive_length);
  const unsigned blocks = attention_blocks(launcher, shape, 1);
  const std::size_t bytes = shape.length * sizeof(float);
  with_head_size(shape, [&]<unsigned D>(std::integral_constant<unsigned, D>) {
    allow_shared_memory(attention_naive_kernel<D>, bytes);
    attention_naive_kernel<D>
        <<<blocks, naive_threads, bytes, stream>>>(q, k, v, out, sizes_of(shape));
  });
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
