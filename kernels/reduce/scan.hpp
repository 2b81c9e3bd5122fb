// SPDX-License-Identifier: Apache-2.0
// out[i] = in[0] + ... + in[i] reads 4 bytes and writes 4 per element. Bound by memory bandwidth if
// the input is read once.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <warpgauge/cuda/device_array.hpp>
#include "kernels/arguments.hpp"

namespace warpgauge::kernels {

// All below: in and out are device arrays of n integers that do not overlap. Sums wrap at 32 bits
// (they are unsigned), so that every order of the additions gives the same result. Asynchronous on
// stream; can be captured into a graph. n = 0 does nothing, whatever the pointers. Throw
// std::invalid_argument for a null or misaligned pointer or too large an n, std::runtime_error for
// a refused launch.

/// Shared by the scans: storage that is allocated and zeroed once, on the device that is current at
/// construction. A graph of a scan's calls uses the storage and must not outlive the scan. One
/// stream at a time.
class ScanStorage {
 public:
  ScanStorage(const char* owner, std::size_t most_elements, std::size_t storage_bytes)
      : owner_(owner), most_elements_(most_elements), storage_(zeroed<std::byte>(storage_bytes)) {}

 protected:
  void require(const std::int32_t* in, const std::int32_t* out, std::size_t n,
               std::size_t alignment = alignof(std::int32_t)) const {
    require_at_most(owner_, n, most_elements_);
    require_arrays(owner_, {{"in", in, alignment}, {"out", out, alignment}});
  }

  const char* owner_;
  std::size_t most_elements_;
  DeviceArray<std::byte> storage_;
};

/// In one launch that reads each element once (decoupled look-back), for n up to most_elements <=
/// 32768 (2^31 - 1). in and out must be aligned to 16 bytes.
class LookbackScan : ScanStorage {
 public:
  explicit LookbackScan(std::size_t most_elements);
  void operator()(const std::int32_t* in, std::int32_t* out, std::size_t n, cudaStream_t stream);
};

/// cub::DeviceScan::InclusiveSum, for n up to most_elements <= 2^31 - 1.
class CubScan : ScanStorage {
 public:
  explicit CubScan(std::size_t most_elements);
  void operator()(const std::int32_t* in, std::int32_t* out, std::size_t n, cudaStream_t stream);
};

/// thrust::inclusive_scan as its users call it, but without synchronisation (par_nosync), and with
/// temporary storage that it would otherwise allocate in every call. most_elements <= 2^31 - 1.
class ThrustScan : ScanStorage {
 public:
  explicit ThrustScan(std::size_t most_elements);
  void operator()(const std::int32_t* in, std::int32_t* out, std::size_t n, cudaStream_t stream);
};

/// expected[i] = element first + i of the scan for i < count: a sum of 32-bit integers, which
/// double holds exactly. One block goes through all elements up to first + count and so needs no
/// other block's result: for verification, not for speed. count = 0 does nothing.
void scan_reference(const std::int32_t* in, double* expected, std::size_t first, std::size_t count,
                    cudaStream_t stream);

}  // namespace warpgauge::kernels
