// SPDX-License-Identifier: Apache-2.0
// What one rank does in a collective: its buffers, filled, poisoned and compared on its device, and
// its calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <warpgauge/cuda/device_array.hpp>
#include <warpgauge/gpu/operation.hpp>
#include "benchmarks/nccl/collectives.hpp"
#include "benchmarks/nccl/library.hpp"

namespace warpgauge {

/// Inputs and outputs of a rank, in enough slots to cover the shape's rotation_bytes. In place,
/// both share a buffer, and reductions take the maximum because a sum would grow with each
/// repetition.
class RankBuffers {
 public:
  /// Throws std::runtime_error if the device has too little memory.
  explicit RankBuffers(const RankedShape& of);

  void* input(std::size_t slot);
  void* output(std::size_t slot);

  /// The element of the barriers. The benchmark's, so that it counts among the device memory of
  /// every row, and not of a process's first alone.
  float* arrived() { return arrived_.data(); }

  /// Enqueues this rank's call; it runs when the stream reaches it.
  void issue(const Nccl& nccl, Nccl::Communicator communicator, const Iteration& at);

  /// Writes new inputs to every slot and poisons the outputs. Ranks give the same seed.
  void renew(std::uint64_t seed);

  /// What is wrong with the output in this slot; empty if it is right. The operation has ended.
  std::string fault(std::size_t slot);

 private:
  std::uint64_t seed_of(std::size_t slot) const;
  template <class T>
  std::string fault_of(std::size_t slot);

  RankedShape of_;
  std::size_t slots_ = 1;
  std::size_t input_stride_ = 0;  ///< bytes from slot to slot
  std::size_t output_stride_ = 0;
  std::uint64_t seed_ = 0;
  DeviceArray<std::byte> inputs_;
  DeviceArray<std::byte> outputs_;  ///< empty in place
  DeviceArray<unsigned long long> wrong_ = zeroed<unsigned long long>(1);
  DeviceArray<float> arrived_ = zeroed<float>(1);
};

}  // namespace warpgauge
