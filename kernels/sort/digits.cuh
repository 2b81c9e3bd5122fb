// SPDX-License-Identifier: Apache-2.0
// The digits of a radix sort's keys, and the kernels in front of its passes: one counts the digits
// of all passes in a single reading, the other turns counts into places.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace warpgauge::kernels {

inline constexpr unsigned digit_bits = 8;
inline constexpr unsigned digits = 1U << digit_bits;
inline constexpr unsigned passes = 32 / digit_bits;

/// In front of what the tiles publish. Zero before each sort.
struct SortProgress {
  unsigned counts[passes][digits];
  unsigned taken[passes];  ///< tiles that a block has begun
};

__device__ inline unsigned digit_of(unsigned key, unsigned pass) {
  return __byte_perm(key, 0, 0x4440 + pass);  // one instruction, where a shift and a mask are two
}

inline constexpr unsigned count_threads = 512;

__global__ __launch_bounds__(count_threads) void count_digits_kernel(
    const std::uint32_t* __restrict__ keys, std::size_t n, SortProgress* progress) {
  __shared__ unsigned counts[passes][digits];
  unsigned* const all = &counts[0][0];
  for (unsigned i = threadIdx.x; i < passes * digits; i += count_threads) {
    all[i] = 0;
  }
  __syncthreads();
  const auto count = [&](unsigned key) {
#pragma unroll
    for (unsigned pass = 0; pass < passes; ++pass) {
      // Adding 1 is an instruction of its own, for which lanes with one digit count as one.
      atomicAdd(&counts[pass][digit_of(key, pass)], 1U);
    }
  };
  const std::size_t thread = std::size_t{blockIdx.x} * count_threads + threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * count_threads;
  const auto* const vectors = reinterpret_cast<const uint4*>(keys);
#pragma unroll 4
  for (std::size_t i = thread; i < n / 4; i += threads) {
    const uint4 four = vectors[i];
    count(four.x);
    count(four.y);
    count(four.z);
    count(four.w);
  }
  if (thread < n % 4) {
    count(keys[n - 1 - thread]);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < passes * digits; i += count_threads) {
    if (all[i] != 0) {
      atomicAdd(&progress->counts[0][0] + i, all[i]);
    }
  }
}

/// The exclusive sum over the first `digits` threads, whose values are counts. All threads of the
/// block call it; `sums` belongs to it.
__device__ inline unsigned before_digit(unsigned count, unsigned (&sums)[digits / 32]) {
  const unsigned lane = threadIdx.x % 32;
  unsigned sum = count;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const unsigned other = __shfl_up_sync(~0U, sum, distance);
    sum += lane >= distance ? other : 0U;
  }
  if (lane == 31 && threadIdx.x < digits) {
    sums[threadIdx.x / 32] = sum;
  }
  __syncthreads();
  unsigned before = sum - count;
  for (unsigned i = 0; i < threadIdx.x / 32 && i < digits / 32; ++i) {
    before += sums[i];
  }
  return before;
}

/// Counts become the place of each digit's first key.
__global__ __launch_bounds__(digits) void place_digits_kernel(SortProgress* progress) {
  __shared__ unsigned sums[digits / 32];
  unsigned* const count = &progress->counts[blockIdx.x][threadIdx.x];
  *count = before_digit(*count, sums);
}

}  // namespace warpgauge::kernels
