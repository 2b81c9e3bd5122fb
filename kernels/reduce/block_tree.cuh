// SPDX-License-Identifier: Apache-2.0
// How a block combines the values of its threads if speed does not matter.
#pragma once

namespace warpgauge::kernels {

/// Combines the values of all threads into values[0], for thread 0 to read, for others after a
/// barrier. It does so as a tree, always in the same order.
template <unsigned threads, class T, class Combine>
__device__ inline void combine_as_tree(T (&values)[threads], const T& mine,
                                       const Combine& combine) {
  values[threadIdx.x] = mine;
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
    }
  }
}

}  // namespace warpgauge::kernels
