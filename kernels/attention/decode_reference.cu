// SPDX-License-Identifier: Apache-2.0
// Decoding in double precision: one block per query goes through its keys twice, for the largest
// score and for the result. For verification, not for speed.
#include <warpgauge/cuda/arguments.hpp>
#include "kernels/arguments.hpp"
#include "kernels/attention/arguments.hpp"
#include "kernels/attention/decode.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned decode_reference_threads = 256;

__global__ __launch_bounds__(decode_reference_threads) void attention_decode_reference_kernel(
    const __nv_bfloat16* __restrict__ q, PagedCache cache, double* __restrict__ expected,
    DecodeShape shape) {
  __shared__ double query[128];
  __shared__ double powers[decode_reference_threads];
  const std::size_t d = shape.head_size;
  const std::size_t sequence = blockIdx.x / shape.heads;
  const std::size_t kv_head = blockIdx.x % shape.heads / (shape.heads / shape.kv_heads);
  const auto length = static_cast<std::size_t>(cache.lengths[sequence]);
  const auto place = [&](std::size_t key) {
    const auto page = static_cast<std::size_t>(
        cache.table[sequence * shape.sequence_pages + key / shape.page_keys]);
    return ((page * shape.kv_heads + kv_head) * shape.page_keys + key % shape.page_keys) * d;
  };
  if (threadIdx.x < d) {
    query[threadIdx.x] = static_cast<double>(__bfloat162float(q[blockIdx.x * d + threadIdx.x])) /
                         sqrt(static_cast<double>(d));
  }
  __syncthreads();
  const auto score = [&](std::size_t key) {
    const __nv_bfloat16* const from = cache.k + place(key);
    double sum = 0;
    for (std::size_t i = 0; i < d; ++i) {
      sum += query[i] * static_cast<double>(__bfloat162float(from[i]));
    }
    return sum;
  };
  double largest = -INFINITY;
  for (std::size_t key = threadIdx.x; key < length; key += decode_reference_threads) {
    largest = fmax(largest, score(key));
  }
  powers[threadIdx.x] = largest;
  __syncthreads();
  for (const double value : powers) {
    largest = fmax(largest, value);
  }
  double sum = 0;
  double result = 0;
  for (std::size_t first = 0; first < length; first += decode_reference_threads) {
    __syncthreads();  // others may still read powers
    const std::size_t key = first + threadIdx.x;
    powers[threadIdx.x] = key < length ? exp(score(key) - largest) : 0;
    __syncthreads();
    for (std::size_t i = 0; i < decode_reference_threads && first + i < length; ++i) {
      sum += powers[i];
      if (threadIdx.x < d) {
        result += powers[i] *
                  static_cast<double>(__bfloat162float(cache.v[place(first + i) + threadIdx.x]));
      }
    }
  }
  if (threadIdx.x < d) {
    expected[blockIdx.x * d + threadIdx.x] = result / sum;
  }
}

void attention_decode_reference(const __nv_bfloat16* q, PagedCache cache, double* expected,
                                DecodeShape shape, cudaStream_t stream) {
  if (has_no_elements(shape)) {
    return;
  }
  constexpr const char* launcher = "attention_decode_reference";
  require_decode(launcher, q, cache, shape);
  require_arrays(launcher, {{"expected", expected}});
  const unsigned blocks = blocks_for(launcher, shape.batch * shape.heads, 1);
  attention_decode_reference_kernel<<<blocks, decode_reference_threads, 0, stream>>>(
      q, cache, expected, shape);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
