// SPDX-License-Identifier: Apache-2.0
// One long row by all blocks: a launch counts a digit, and its last block narrows the range of the
// k-th largest key; launches that have nothing left to do end at once. A last launch collects what
// is left, and its last block sorts it. Bound by device memory, which random elements would have
// read three times: for two digits, and to collect. Long rows are therefore tried with the
// threshold of a sample first, and mostly read once.
#include <algorithm>

#include <warpgauge/cuda/check.hpp>
#include <warpgauge/cuda/current_device.hpp>
#include "kernels/sort/select.cuh"

namespace warpgauge::kernels {

// Of every 64 elements one is in the sample. About 4608 of the row reach the 72nd largest of it: of
// random ones between 2048 and 8192, but for five deviations.
inline constexpr unsigned sample_stride = 64;
inline constexpr unsigned sample_rank = 72;
inline constexpr unsigned sample_digits = 2;
inline constexpr std::size_t least_sampled = std::size_t{1} << 20;

/// Shared by the blocks. All zero before the first launch; then `threshold` holds for the next one.
struct SelectProgress {
  Threshold threshold;  ///< inside = 0: nothing is known yet
  unsigned finished;    ///< blocks of this launch
  unsigned collected;
  unsigned is_selected;  ///< nothing is left to do
  unsigned bins[select_bins];
  SelectKey candidates[most_candidates];
};

/// What the block's launch begins with.
__device__ inline Threshold known_threshold(const SelectProgress& progress, RowKeys keys) {
  return progress.threshold.inside != 0
             ? progress.threshold
             : Threshold{0, keys.bits(), 0, static_cast<unsigned>(keys.columns)};
}

/// Whether all other blocks of the launch have called it. What they wrote before is then visible.
__device__ inline bool is_last_block(SelectProgress* progress, SelectStorage& storage) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    storage.count = atomicInc(&progress->finished, gridDim.x - 1) == gridDim.x - 1 ? 1 : 0;
    __threadfence();
  }
  __syncthreads();
  return storage.count != 0;
}

/// Calls use(key) for the keys of this block, four of every 4 * stride.
template <unsigned stride, class Use>
__device__ void for_keys_of_block(const float* __restrict__ in, RowKeys keys, const Use& use) {
  const std::size_t thread = std::size_t{blockIdx.x} * select_threads + threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * select_threads;
#pragma unroll 4
  for (std::size_t v = thread * stride; v < keys.columns / 4; v += threads * stride) {
    const float4 four = reinterpret_cast<const float4*>(in)[v];
    use(keys.key(four.x, 4 * v));
    use(keys.key(four.y, 4 * v + 1));
    use(keys.key(four.z, 4 * v + 2));
    use(keys.key(four.w, 4 * v + 3));
  }
  if constexpr (stride > 1) {
    return;
  }
  const std::size_t rest = keys.columns / 4 * 4 + thread;
  if (rest < keys.columns) {
    use(keys.key(in[rest], rest));
  }
}

template <unsigned stride>
__global__ __launch_bounds__(select_threads) void count_keys_kernel(const float* __restrict__ in,
                                                                    RowKeys keys, unsigned k,
                                                                    SelectProgress* progress) {
  __shared__ SelectStorage storage;
  const Threshold threshold = known_threshold(*progress, keys);
  if (stride == 1 &&
      (progress->is_selected != 0 || threshold.above + threshold.inside <= most_candidates)) {
    return;
  }
  clear_bins(storage);
  __syncthreads();
  for_keys_of_block<stride>(in, keys, [&](SelectKey key) {
    if (threshold.has(key)) {
      atomicAdd(&storage.bins[threshold.digit(key)], 1U);
    }
  });
  __syncthreads();
  for (unsigned i = threadIdx.x; i < select_bins; i += select_threads) {
    if (storage.bins[i] != 0) {
      atomicAdd(&progress->bins[i], storage.bins[i]);
    }
  }
  if (is_last_block(progress, storage)) {
    for (unsigned i = threadIdx.x; i < select_bins; i += select_threads) {
      storage.bins[i] = __ldcg(&progress->bins[i]);
      progress->bins[i] = 0;
    }
    __syncthreads();
    const Threshold next = next_threshold(storage.bins, threshold, k, storage);
    if (threadIdx.x == 0) {
      progress->threshold = next;
    }
  }
}

/// Finishes if the keys that reach the threshold are at least k and few enough, which those of a
/// sample need not be. Then nothing is known again.
__global__ __launch_bounds__(select_threads) void collect_keys_kernel(
    const float* __restrict__ in, float* __restrict__ values, std::int32_t* __restrict__ columns,
    RowKeys keys, unsigned k, SelectProgress* progress) {
  extern __shared__ SelectKey candidates[];
  __shared__ SelectStorage storage;
  if (progress->is_selected != 0) {
    return;
  }
  const Threshold threshold = known_threshold(*progress, keys);
  bool is_full = false;
  for_keys_of_block<1>(in, keys, [&](SelectKey key) {
    if (!is_full && threshold.reaches(key)) {
      const unsigned place = atomicAdd(&progress->collected, 1U);
      is_full = place >= most_candidates;
      if (!is_full) {
        progress->candidates[place] = key;
      }
    }
  });
  if (!is_last_block(progress, storage)) {
    return;
  }
  const unsigned count = __ldcg(&progress->collected);
  const bool finishes = k <= count && count <= most_candidates;
  if (finishes) {
    for (unsigned i = threadIdx.x; i < count; i += select_threads) {
      candidates[i] = __ldcg(&progress->candidates[i]);
    }
    __syncthreads();
    finish_selection(candidates, count, {0, keys.bits(), 0, count}, k, keys, values, columns,
                     storage);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    progress->is_selected = finishes ? 1 : 0;
    progress->collected = 0;
    progress->threshold = {};
  }
}

std::size_t top_k_scratch_bytes() {
  return sizeof(SelectProgress);
}

void top_k(const float* in, float* values, std::int32_t* columns, void* scratch, std::size_t n,
           unsigned k, cudaStream_t stream) {
  require_selectable("top_k", n, k);
  auto* const progress = static_cast<SelectProgress*>(scratch);
  require_arrays("top_k", {{"in", in, sizeof(float4)},
                           {"values", values},
                           {"columns", columns},
                           {"scratch", progress, sizeof(uint4)}});
  constexpr unsigned bytes = most_candidates * sizeof(SelectKey);
  WARPGAUGE_CHECK(cudaFuncSetAttribute(collect_keys_kernel,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  WARPGAUGE_CHECK(cudaMemsetAsync(progress, 0, offsetof(SelectProgress, candidates), stream));
  const RowKeys keys = row_keys(n);
  const auto blocks = static_cast<unsigned>(
      std::min((n - 1) / (std::size_t{4} * select_threads) + 1, std::size_t{sm_count()} * 2));
  const unsigned sampling = std::min(blocks, static_cast<unsigned>(sm_count()));
  // Elements that are all different need two; equal ones all, until their columns decide.
  const unsigned most_digits = (keys.bits() - 1) / select_digit_bits + 1;
  const auto collect = [&] {
    collect_keys_kernel<<<blocks, select_threads, bytes, stream>>>(in, values, columns, keys, k,
                                                                   progress);
    WARPGAUGE_CHECK(cudaGetLastError());
  };
  if (n > least_sampled) {
    for (unsigned digit = 0; digit < sample_digits; ++digit) {
      count_keys_kernel<sample_stride>
          <<<sampling, select_threads, 0, stream>>>(in, keys, sample_rank, progress);
      WARPGAUGE_CHECK(cudaGetLastError());
    }
    collect();
  }
  for (unsigned digit = 0; digit < most_digits && n > most_candidates; ++digit) {
    count_keys_kernel<1><<<blocks, select_threads, 0, stream>>>(in, keys, k, progress);
    WARPGAUGE_CHECK(cudaGetLastError());
  }
  collect();
}

}  // namespace warpgauge::kernels
