// SPDX-License-Identifier: Apache-2.0
// One load at a time, each waiting for the one before: bound by latency alone.
#include <bit>
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include <warpgauge/cuda/stream.hpp>
#include "kernels/memory/cache.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned chase_threads = 128;

/// A line of the ring; only the pointer is used.
struct alignas(ChaseRing::line_bytes) ChaseLine {
  const ChaseLine* next;
};

__device__ inline const ChaseLine* load_next(const ChaseLine* line) {
  const auto* const next = reinterpret_cast<const unsigned long long*>(&line->next);
  return reinterpret_cast<const ChaseLine*>(__ldca(next));  // cached in the L1, too
}

/// The line at `place` of the order. Shifts and odd multipliers scatter the places; each step is
/// one to one on numbers of `bits` bits, and so is the whole. The multipliers are those of xxHash
/// and of MurmurHash3's final mixing.
__host__ __device__ constexpr std::uint32_t line_at(std::size_t place, unsigned bits) {
  const std::uint32_t mask = (std::uint32_t{1} << bits) - 1;
  const unsigned half = (bits + 1) / 2;
  std::uint32_t x = static_cast<std::uint32_t>(place) & mask;
  x ^= x >> half;
  x = x * 0x9e3779b1U & mask;
  x ^= x >> half;
  x = x * 0x85ebca6bU & mask;
  x ^= x >> half;
  return x;
}

__global__ void fill_ring_kernel(ChaseLine* ring, unsigned bits) {
  const std::size_t place = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (place < std::size_t{1} << bits) {
    ring[line_at(place, bits)].next = ring + line_at(place + 1, bits);
  }
}

__global__ __launch_bounds__(chase_threads) void chase_kernel(const ChaseLine* ring,
                                                              std::uint32_t start,
                                                              std::size_t loads,
                                                              std::size_t lines_into_l1, int* out) {
  bool none = false;
  for (std::size_t line = threadIdx.x; line < lines_into_l1; line += chase_threads) {
    none = none || load_next(ring + line) == nullptr;
  }
  // No pointer of the ring is null. The compiler does not know this, and so reads them.
  if (__syncthreads_or(none ? 1 : 0) != 0 || threadIdx.x != 0) {
    return;
  }
  const ChaseLine* line = ring + start;
#pragma unroll 8
  for (std::size_t load = 0; load < loads; ++load) {
    line = load_next(line);
  }
  *out = static_cast<int>(line - ring);
}

__global__ void line_at_kernel(double* expected, std::size_t place, unsigned bits) {
  *expected = line_at(place, bits);
}

namespace {

unsigned require_ring(std::size_t bytes) {
  const std::size_t lines = bytes / ChaseRing::line_bytes;
  if (bytes % ChaseRing::line_bytes != 0 || !std::has_single_bit(lines) || lines < 4 ||
      lines > ChaseRing::most_lines) {
    throw std::invalid_argument("ChaseRing: " + std::to_string(bytes) +
                                " bytes are not a power of two from 4 to " +
                                std::to_string(ChaseRing::most_lines) + " lines of " +
                                std::to_string(ChaseRing::line_bytes) + " bytes");
  }
  return static_cast<unsigned>(std::countr_zero(lines));
}

}  // namespace

ChaseRing::ChaseRing(std::size_t bytes) : bits_(require_ring(bytes)), ring_(lines()) {
  constexpr unsigned threads = 256;
  const unsigned blocks = blocks_for("ChaseRing", lines(), threads);
  const Stream stream;
  fill_ring_kernel<<<blocks, threads, 0, stream.get()>>>(ring_.data(), bits_);
  WARPGAUGE_CHECK(cudaGetLastError());
  stream.synchronize();
}

void ChaseRing::operator()(std::size_t start, std::size_t loads, std::int32_t* out,
                           cudaStream_t stream) const {
  require_pointer("ChaseRing", "out", out, alignof(std::int32_t));
  require_at_most("ChaseRing", loads, 0x7fffffff);
  const std::size_t warmed = ring_.size_bytes() <= most_l1_bytes ? lines() : 0;
  chase_kernel<<<1, chase_threads, 0, stream>>>(ring_.data(), line_at(start, bits_), loads, warmed,
                                                out);
  WARPGAUGE_CHECK(cudaGetLastError());
}

void ChaseRing::reference(std::size_t place, double* expected, cudaStream_t stream) const {
  require_pointer("ChaseRing", "expected", expected, alignof(double));
  line_at_kernel<<<1, 1, 0, stream>>>(expected, place, bits_);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
