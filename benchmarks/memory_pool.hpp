// SPDX-License-Identifier: Apache-2.0
// The pool that the memory benchmarks take stream-ordered memory from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <warpgauge/gpu_benchmark.hpp>

namespace warpgauge {

/// A memory pool of the device; not its default one, whose state the rest of the process shares.
class MemoryPool {
 public:
  /// `kept_bytes`: so much that is not used stays with the pool at a synchronisation. Throws
  /// Unsupported where the device has no pools.
  MemoryPool(const Device& device, std::uint64_t kept_bytes) : kept_bytes_(kept_bytes) {
    int supported = 0;
    WARPGAUGE_CHECK(
        cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device.index));
    if (supported == 0) {
      throw Unsupported("needs a device with memory pools");
    }
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device.index};
    cudaMemPool_t created = nullptr;
    WARPGAUGE_CHECK(cudaMemPoolCreate(&created, &properties));
    pool_.reset(created);
    WARPGAUGE_CHECK(
        cudaMemPoolSetAttribute(pool_.get(), cudaMemPoolAttrReleaseThreshold, &kept_bytes));
  }
  cudaMemPool_t get() const noexcept { return pool_.get(); }

  /// Throws WrongResult unless the pool still has `bytes` that were given back to it, or has
  /// nothing where it keeps nothing. The stream must have ended.
  void require_kept(std::size_t bytes) const {
    std::uint64_t reserved = 0;
    WARPGAUGE_CHECK(
        cudaMemPoolGetAttribute(pool_.get(), cudaMemPoolAttrReservedMemCurrent, &reserved));
    const bool right = kept_bytes_ == 0 ? reserved == 0 : reserved >= bytes;
    if (!right) {
      throw WrongResult("the pool has " + std::to_string(reserved) + " bytes where " +
                        std::to_string(bytes) + " were given back to it");
    }
  }

 private:
  struct Destroy {
    void operator()(cudaMemPool_t pool) const noexcept {
      // What was freed on a stream is the pool's until the stream gets there.
      report_cuda_error(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      report_cuda_error(cudaMemPoolDestroy(pool), "cudaMemPoolDestroy");
    }
  };
  std::uint64_t kept_bytes_;
  std::unique_ptr<std::remove_pointer_t<cudaMemPool_t>, Destroy> pool_;
};

}  // namespace warpgauge
