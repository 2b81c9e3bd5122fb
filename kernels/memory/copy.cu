// SPDX-License-Identifier: Apache-2.0
// 16-byte loads and stores, one per thread, so that a warp accesses 512 bytes in a row: whole cache
// lines of device memory, whole packets of the bus, whichever bounds it.
#include "kernels/memory/copy.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>

#include "kernels/launch_elements.cuh"

namespace warpgauge::kernels {

// As vector_threads, for the same reason: see elementwise/vector.cuh.
inline constexpr unsigned copy_threads = 128;
inline constexpr unsigned touch_threads = 128;
inline constexpr unsigned packed_rows_threads = 256;

__global__ __launch_bounds__(copy_threads) void copy_bytes_kernel(const uint4* __restrict__ from,
                                                                  uint4* __restrict__ to,
                                                                  std::size_t bytes) {
  const std::size_t vectors = bytes / sizeof(uint4);
  const std::size_t i = std::size_t{blockIdx.x} * copy_threads + threadIdx.x;
  if (i < vectors) {
    to[i] = from[i];
  }
  if (blockIdx.x == 0 && threadIdx.x < bytes % sizeof(uint4)) {
    const std::size_t last = vectors * sizeof(uint4) + threadIdx.x;
    reinterpret_cast<unsigned char*>(to)[last] = reinterpret_cast<const unsigned char*>(from)[last];
  }
}

__global__ __launch_bounds__(touch_threads) void touch_kernel(unsigned char* memory,
                                                              std::size_t touches,
                                                              std::size_t stride,
                                                              unsigned char value) {
  // Not i * stride < bytes: after the last touch the product may wrap.
  const std::size_t i = std::size_t{blockIdx.x} * touch_threads + threadIdx.x;
  if (i < touches) {
    memory[i * stride] = value;
  }
}

__global__ __launch_bounds__(packed_rows_threads) void packed_rows_reference_kernel(
    const float* __restrict__ rows, double* __restrict__ expected, std::size_t width,
    std::size_t pitch, std::size_t first, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * packed_rows_threads + threadIdx.x;
  if (i < count) {
    const std::size_t element = first + i;
    expected[i] = static_cast<double>(rows[element / width * pitch + element % width]);
  }
}

void copy_bytes(const void* from, void* to, std::size_t bytes, cudaStream_t stream) {
  const auto* const source = static_cast<const uint4*>(from);
  auto* const target = static_cast<uint4*>(to);
  launch_elements({"copy_bytes", bytes, copy_threads, sizeof(uint4)},
                  {{"from", source}, {"to", target}}, stream, copy_bytes_kernel, source, target,
                  bytes);
}

void touch(void* memory, std::size_t bytes, std::size_t stride, unsigned char value,
           cudaStream_t stream) {
  if (bytes == 0) {
    return;
  }
  if (stride == 0) {
    throw std::invalid_argument("touch: a stride of 0 bytes, at least 1 is needed");
  }
  auto* const first = static_cast<unsigned char*>(memory);
  const std::size_t touches = (bytes - 1) / stride + 1;
  launch_elements({"touch", touches, touch_threads}, {{"memory", first}}, stream, touch_kernel,
                  first, touches, stride, value);
}

void packed_rows_reference(const float* rows, double* expected, PitchedRows shape,
                           std::size_t first, std::size_t count, cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  if (shape.width == 0 || shape.width > shape.pitch) {
    throw std::invalid_argument("packed_rows_reference: rows of " + std::to_string(shape.width) +
                                " elements, " + std::to_string(shape.pitch) +
                                " apart; at least 1 and no more than they are apart can be packed");
  }
  require_countable("packed_rows_reference", shape.height, shape.pitch, sizeof(float));
  require_window("packed_rows_reference", first, count, shape.height * shape.width, "the rows");
  launch_elements({"packed_rows_reference", count, packed_rows_threads},
                  {{"rows", rows}, {"expected", expected}}, stream, packed_rows_reference_kernel,
                  rows, expected, shape.width, shape.pitch, first, count);
}

}  // namespace warpgauge::kernels
