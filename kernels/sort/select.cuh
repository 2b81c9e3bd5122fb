// SPDX-License-Identifier: Apache-2.0
// What selects the k largest of a row: radix select from the highest digit on. An element and its
// column make one key, so that no two keys are equal and any order of work gives the same result.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/arguments.hpp"
#include "kernels/sort/top_k.hpp"

namespace warpgauge::kernels {

using SelectKey = unsigned long long;

inline constexpr unsigned select_threads = 1024;
inline constexpr unsigned select_digit_bits = 11;
inline constexpr unsigned select_bins = 1U << select_digit_bits;
inline constexpr unsigned most_candidates = 8192;  // that a block finishes in shared memory

/// Keys of a row: the element above, the column counted from the end below.
struct RowKeys {
  std::size_t columns;
  unsigned column_bits;
  __host__ __device__ unsigned bits() const { return 32 + column_bits; }
  __device__ SelectKey key(float x, std::size_t column) const {
    const unsigned word = __float_as_uint(x);
    const unsigned ordered = (word >> 31) != 0 ? ~word : word | 0x8000'0000U;
    return static_cast<SelectKey>(ordered) << column_bits | (columns - 1 - column);
  }
  __device__ std::int32_t column(SelectKey key) const {
    const SelectKey from_end = key & ((SelectKey{1} << column_bits) - 1);
    return static_cast<std::int32_t>(columns - 1 - from_end);
  }
  __device__ float value(SelectKey key) const {
    const auto ordered = static_cast<unsigned>(key >> column_bits);
    return __uint_as_float((ordered >> 31) != 0 ? ordered & 0x7fff'ffffU : ~ordered);
  }
};

/// What is known of the k-th largest key: key >> shift. Larger ones are `above`, and `inside` have
/// the same upper bits.
struct Threshold {
  SelectKey upper;
  unsigned shift;
  unsigned above;
  unsigned inside;

  __device__ unsigned next_width() const {
    return shift < select_digit_bits ? shift : select_digit_bits;
  }
  /// Whether the key's next digit matters, and that digit.
  __device__ bool has(SelectKey key) const { return key >> shift == upper; }
  __device__ unsigned digit(SelectKey key) const {
    const unsigned width = next_width();
    return static_cast<unsigned>(key >> (shift - width)) & ((1U << width) - 1);
  }
  __device__ bool reaches(SelectKey key) const { return key >> shift >= upper; }
};

/// For a row of 1 to 2^31 - 1 columns.
inline RowKeys row_keys(std::size_t columns) {
  return {columns, static_cast<unsigned>(std::bit_width(columns - 1))};
}

/// Throws std::invalid_argument unless k columns of a row can be selected.
inline void require_selectable(const char* launcher, std::size_t columns, unsigned k) {
  require_at_most(launcher, columns, (std::size_t{1} << 31) - 1);
  if (k < 1 || k > most_selected || k > columns) {
    throw std::invalid_argument(std::string(launcher) + ": k is " + std::to_string(k) +
                                "; it takes 1 to " +
                                std::to_string(std::min(columns, std::size_t{most_selected})));
  }
}

struct SelectStorage {
  unsigned bins[select_bins];
  unsigned of_warps[select_threads / 32];
  unsigned count;
  Threshold threshold;
  SelectKey selected[most_selected];
};

/// `threshold` with the next digit of the k-th largest key, from the counts of that digit in
/// `bins`. All threads of the block call it, and have the result, behind a barrier.
__device__ inline Threshold next_threshold(const unsigned* bins, Threshold threshold, unsigned k,
                                           SelectStorage& storage) {
  // Thread 0 has the two highest bins.
  const unsigned high = bins[select_bins - 1 - 2 * threadIdx.x];
  const unsigned low = bins[select_bins - 2 - 2 * threadIdx.x];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  unsigned sum = high + low;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const unsigned other = __shfl_up_sync(~0U, sum, distance);
    sum += lane >= distance ? other : 0U;
  }
  if (lane == 31) {
    storage.of_warps[warp] = sum;
  }
  __syncthreads();
  const unsigned of_warp = lane < warp ? storage.of_warps[lane] : 0U;
  const unsigned before = threshold.above + __reduce_add_sync(~0U, of_warp) + sum - high - low;
  if (before < k && k <= before + high + low) {
    const bool is_high = k <= before + high;
    const unsigned bin =
        is_high ? select_bins - 1 - 2 * threadIdx.x : select_bins - 2 - 2 * threadIdx.x;
    const unsigned width = threshold.next_width();
    storage.threshold = {threshold.upper << width | bin, threshold.shift - width,
                         is_high ? before : before + high, is_high ? high : low};
  }
  __syncthreads();
  return storage.threshold;
}

__device__ inline void clear_bins(SelectStorage& storage) {
  storage.bins[threadIdx.x] = 0;
  storage.bins[threadIdx.x + select_threads] = 0;
}

/// Writes the k largest of `count` candidates, which are those that reach `threshold`. They are in
/// shared memory; all threads of the block call it.
__device__ inline void finish_selection(const SelectKey* candidates, unsigned count,
                                        Threshold threshold, unsigned k, RowKeys keys,
                                        float* __restrict__ values,
                                        std::int32_t* __restrict__ columns,
                                        SelectStorage& storage) {
  while (threshold.above + threshold.inside > k) {
    clear_bins(storage);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count; i += select_threads) {
      if (threshold.has(candidates[i])) {
        atomicAdd(&storage.bins[threshold.digit(candidates[i])], 1U);
      }
    }
    __syncthreads();
    threshold = next_threshold(storage.bins, threshold, k, storage);
  }
  unsigned size = 1;  // to sort
  while (size < k) {
    size *= 2;
  }
  for (unsigned i = threadIdx.x; i < size; i += select_threads) {
    storage.selected[i] = 0;  // behind all keys
  }
  if (threadIdx.x == 0) {
    storage.count = 0;
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < count; i += select_threads) {
    if (threshold.reaches(candidates[i])) {
      storage.selected[atomicAdd(&storage.count, 1U)] = candidates[i];
    }
  }
  // Bitonic, descending (Batcher 1968, "Sorting networks and their applications").
  for (unsigned run = 2; run <= size; run *= 2) {
    for (unsigned distance = run / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (unsigned t = threadIdx.x; t < size / 2; t += select_threads) {
        const unsigned low = 2 * t - t % distance;
        const SelectKey a = storage.selected[low];
        const SelectKey b = storage.selected[low + distance];
        if ((a < b) == ((low & run) == 0)) {
          storage.selected[low] = b;
          storage.selected[low + distance] = a;
        }
      }
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < k; i += select_threads) {
    values[i] = keys.value(storage.selected[i]);
    columns[i] = keys.column(storage.selected[i]);
  }
}

}  // namespace warpgauge::kernels
