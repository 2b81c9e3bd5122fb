// SPDX-License-Identifier: Apache-2.0
// What a cache gives: bytes per second to all threads at once, and the time of one load that waits
// for the one before it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <warpgauge/cuda/device_array.hpp>

namespace warpgauge::kernels {

/// How read_round distributes its reads: each of blocks * read_threads threads reads `loads`
/// vectors of 16 bytes.
struct ReadShape {
  std::size_t blocks, loads;
};

inline constexpr std::size_t read_threads = 256;
inline constexpr std::size_t read_vector_bytes = 16;

/// Bytes that a read_round of this shape reads.
constexpr std::size_t bytes_read(ReadShape shape) {
  return shape.blocks * read_threads * shape.loads * read_vector_bytes;
}

// Both below: in is a device array of n integers, n a multiple of 4 and at most 2^33; out
// (expected) is a device array with one value per block. Thread t of all T reads the vectors t, t +
// T, t + 2T, ... modulo n / 4. Asynchronous on stream; can be captured into a graph. 0 blocks do
// nothing. Throw std::invalid_argument for a null or misaligned pointer, another n, more than
// 2^31 - 1 blocks or 2^33 loads, std::runtime_error for a refused launch.

/// out[b] = the sum, modulo 2^32, of all integers that block b reads. Reads bypass the L1: they
/// have the rate of the L2 if in stays there, else of device memory. in is aligned to 16 bytes.
void read_round(const std::int32_t* in, std::int32_t* out, std::size_t n, ReadShape shape,
                cudaStream_t stream);

/// expected[i] = what block first + i reads, summed. count = 0 does nothing.
void read_round_reference(const std::int32_t* in, double* expected, std::size_t n, ReadShape shape,
                          std::size_t first, std::size_t count, cudaStream_t stream);

struct ChaseLine;

/// One thread follows a ring of pointers. Each load returns the address of the next, so that its
/// time is the latency of the memory that holds the ring. The order is random but fixed: no load
/// can be guessed. Holds the ring, one pointer per cache line, on the device that is current at
/// construction. A graph of this object's calls uses the ring and must not outlive the object.
class ChaseRing {
 public:
  static constexpr std::size_t line_bytes = 128;
  static constexpr std::size_t most_lines = std::size_t{1} << 30;
  /// Many threads first read a ring of up to this size once. It is then in the L1 of the
  /// multiprocessor, which keeps nothing between kernels.
  static constexpr std::size_t most_l1_bytes = std::size_t{128} << 10;

  /// Waits until the ring is filled. Throws std::invalid_argument unless bytes is a power of two
  /// times line_bytes, from 4 to most_lines lines; std::runtime_error if CUDA fails.
  explicit ChaseRing(std::size_t bytes);

  /// Makes `loads` loads, beginning at place `start` of the order and wrapping at its end. *out =
  /// the line that it ends at. Asynchronous on stream; can be captured. Throws
  /// std::invalid_argument for a null or misaligned pointer or more than 2^31 - 1 loads,
  /// std::runtime_error for a refused launch.
  void operator()(std::size_t start, std::size_t loads, std::int32_t* out,
                  cudaStream_t stream) const;

  /// *expected = the line at `place`, from the formula of the order. Throws as above.
  void reference(std::size_t place, double* expected, cudaStream_t stream) const;

  std::size_t lines() const noexcept { return std::size_t{1} << bits_; }

 private:
  unsigned bits_;  // of a line's number
  DeviceArray<ChaseLine> ring_;
};

}  // namespace warpgauge::kernels
