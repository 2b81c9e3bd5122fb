// SPDX-License-Identifier: Apache-2.0
// Radix sort of 32-bit keys, least significant digit first: four passes of 8 bits, each of which
// reads and writes all keys. Bound by device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace warpgauge::kernels {

// All below sort n keys ascending; pairs move a value with each key, and equal keys keep their
// order. Arrays are on the device and do not overlap, except that the radix sorts accept out = in.
// `scratch` has the bytes that the function beside says, aligned to 16, and needs no initial
// contents. Asynchronous
// on stream; can be captured into a graph. n = 0 does nothing, whatever the pointers. Throw
// std::invalid_argument for a null or misaligned pointer or too large an n, std::runtime_error for
// a refused launch.

/// The keys, or keys and values, of a sort.
struct SortedKeys {
  const std::uint32_t* in;
  std::uint32_t* out;
};

/// One kernel counts the digits of all passes; then a pass takes one launch (Adinets and Merrill
/// 2022, "Onesweep: a faster least significant digit radix sort for GPUs"). Takes fewer than 2^30
/// keys; `in` of the keys must be aligned to 16 bytes.
std::size_t radix_sort_scratch_bytes(std::size_t n);
void radix_sort(SortedKeys keys, void* scratch, std::size_t n, cudaStream_t stream);
std::size_t radix_sort_pairs_scratch_bytes(std::size_t n);
void radix_sort_pairs(SortedKeys keys, SortedKeys values, void* scratch, std::size_t n,
                      cudaStream_t stream);

/// cub::DeviceRadixSort, for n up to 2^31 - 1.
std::size_t cub_sort_scratch_bytes(std::size_t n);
void cub_sort(SortedKeys keys, void* scratch, std::size_t n, cudaStream_t stream);
std::size_t cub_sort_pairs_scratch_bytes(std::size_t n);
void cub_sort_pairs(SortedKeys keys, SortedKeys values, void* scratch, std::size_t n,
                    cudaStream_t stream);

/// What shows that `out` is `in` in ascending order: no key is followed by a smaller one, and the
/// sums of the hashes of all keys, each with its value, are the same. Which of two equal keys comes
/// first is not seen.
struct SortProof {
  unsigned long long in, out;  ///< sums of hashes
  unsigned long long descents;
  bool holds() const { return in == out && descents == 0; }
};

/// Adds to `proof`, which is zero before. values.in null: there are none.
void prove_sorted(SortedKeys keys, SortedKeys values, SortProof* proof, std::size_t n,
                  cudaStream_t stream);

}  // namespace warpgauge::kernels
