// SPDX-License-Identifier: Apache-2.0
// How often each of 256 values occurs. A key is 4 bytes read. Bound by atomic additions, or by
// memory bandwidth if these keep up.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <warpgauge/cuda/device_array.hpp>

namespace warpgauge::kernels {

inline constexpr unsigned histogram_bins = 256;

/// The bin of a key: its uppermost byte, masked. With mask 255, random keys spread over all bins;
/// with 0, all contend for the first.
struct BinOf {
  std::uint8_t mask;
  __host__ __device__ unsigned operator()(std::int32_t key) const {
    return static_cast<std::uint32_t>(key) >> 24 & mask;
  }
};

// All below: keys is a device array of n <= 2^31 - 1; bins (expected) has histogram_bins elements,
// does not overlap keys and is written in full, zeros included. Asynchronous on stream; can be
// captured into a graph. n = 0 writes zeros, whatever keys is. Throw std::invalid_argument for a
// null or misaligned pointer or too large an n, std::runtime_error for a refused launch.

/// One atomic addition per key, in device memory (in fact in the L2).
void histogram_global(const std::int32_t* keys, std::int32_t* bins, std::size_t n, BinOf bin_of,
                      cudaStream_t stream);

/// Each block counts in shared memory and adds its counts to the bins once. keys must be aligned to
/// 16 bytes.
void histogram_shared(const std::int32_t* keys, std::int32_t* bins, std::size_t n, BinOf bin_of,
                      cudaStream_t stream);

/// cub::DeviceHistogram::HistogramEven. Its temporary storage is allocated once, on the device that
/// is current at construction. A graph of this object's calls uses the storage and must not outlive
/// the object. One stream at a time.
class CubHistogram {
 public:
  /// For up to most_keys <= 2^31 - 1. Throws std::invalid_argument for more, std::runtime_error if
  /// CUDA fails.
  explicit CubHistogram(std::size_t most_keys);

  /// n <= most_keys.
  void operator()(const std::int32_t* keys, std::int32_t* bins, std::size_t n, BinOf bin_of,
                  cudaStream_t stream);

 private:
  std::size_t most_keys_;
  DeviceArray<std::byte> storage_;
};

/// The counts, without atomics: each bin has a block that reads all keys. For verification, not for
/// speed.
void histogram_reference(const std::int32_t* keys, double* expected, std::size_t n, BinOf bin_of,
                         cudaStream_t stream);

}  // namespace warpgauge::kernels
