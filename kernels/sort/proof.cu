// SPDX-License-Identifier: Apache-2.0
// Proves that keys are sorted, in one reading: for verification where the host would take seconds.
#include "kernels/launch_elements.cuh"
#include "kernels/sort/sort.hpp"

namespace warpgauge::kernels {

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
/// generators"): a bijection whose sums show any change of the set of pairs.
__device__ inline unsigned long long pair_hash(std::uint32_t key, std::uint32_t value) {
  unsigned long long x = (static_cast<unsigned long long>(key) << 32 | value) + 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

__global__ __launch_bounds__(256) void prove_sorted_kernel(SortedKeys keys, SortedKeys values,
                                                           SortProof* proof, std::size_t n) {
  SortProof mine{};
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += threads) {
    mine.in += pair_hash(keys.in[i], values.in == nullptr ? 0 : values.in[i]);
    mine.out += pair_hash(keys.out[i], values.in == nullptr ? 0 : values.out[i]);
    mine.descents += i > 0 && keys.out[i - 1] > keys.out[i] ? 1 : 0;
  }
  atomicAdd(&proof->in, mine.in);
  atomicAdd(&proof->out, mine.out);
  if (mine.descents != 0) {
    atomicAdd(&proof->descents, mine.descents);
  }
}

void prove_sorted(SortedKeys keys, SortedKeys values, SortProof* proof, std::size_t n,
                  cudaStream_t stream) {
  if (n > 0 && (values.in != nullptr || values.out != nullptr)) {
    require_arrays("prove_sorted", {{"values.in", values.in}, {"values.out", values.out}});
  }
  launch_elements({.launcher = "prove_sorted", .n = n, .threads = 256, .most_blocks_an_sm = 8},
                  {{"keys.in", keys.in}, {"keys.out", keys.out}, {"proof", proof}}, stream,
                  prove_sorted_kernel, keys, values, proof, n);
}

}  // namespace warpgauge::kernels
