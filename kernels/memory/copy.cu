// SPDX-License-Identifier: Apache-2.0
// Loads and stores of 16 bytes, one a thread, so that a warp asks for 512 bytes in a row: whole
// cache lines of device memory, whole packets of the bus.
#include "kernels/memory/copy.hpp"

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>

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
  // Not i * stride < bytes: past the last touch the product may wrap.
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
  if (bytes == 0) {
    return;
  }
  require_pointer("copy_bytes", "from", from, sizeof(uint4));
  require_pointer("copy_bytes", "to", to, sizeof(uint4));
  const unsigned blocks = blocks_for("copy_bytes", bytes, copy_threads * sizeof(uint4));
  copy_bytes_kernel<<<blocks, copy_threads, 0, stream>>>(static_cast<const uint4*>(from),
                                                         static_cast<uint4*>(to), bytes);
  WARPGAUGE_CHECK(cudaGetLastError());
}

void touch(void* memory, std::size_t bytes, std::size_t stride, unsigned char value,
           cudaStream_t stream) {
  if (bytes == 0) {
    return;
  }
  require_pointer("touch", "memory", memory, 1);
  if (stride == 0) {
    throw std::invalid_argument("touch: a stride of 0 bytes, at least 1 is needed");
  }
  const std::size_t touches = (bytes - 1) / stride + 1;
  touch_kernel<<<blocks_for("touch", touches, touch_threads), touch_threads, 0, stream>>>(
      static_cast<unsigned char*>(memory), touches, stride, value);
  WARPGAUGE_CHECK(cudaGetLastError());
}

void packed_rows_reference(const float* rows, double* expected, PitchedRows shape,
                           std::size_t first, std::size_t count, cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  require_pointer("packed_rows_reference", "rows", rows, alignof(float));
  require_pointer("packed_rows_reference", "expected", expected, alignof(double));
  if (shape.width == 0 || shape.width > shape.pitch) {
    throw std::invalid_argument("packed_rows_reference: rows of " + std::to_string(shape.width) +
                                " elements, " + std::to_string(shape.pitch) +
                                " apart; at least 1 and no more than they are apart can be packed");
  }
  constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / sizeof(float);
  if (shape.height > most / shape.pitch) {
    throw std::invalid_argument("packed_rows_reference: " + std::to_string(shape.height) +
                                " rows, " + std::to_string(shape.pitch) +
                                " elements apart, are more bytes than a signed 64-bit difference "
                                "can count");
  }
  require_window("packed_rows_reference", first, count, shape.height * shape.width, "the rows");
  const unsigned blocks = blocks_for("packed_rows_reference", count, packed_rows_threads);
  packed_rows_reference_kernel<<<blocks, packed_rows_threads, 0, stream>>>(
      rows, expected, shape.width, shape.pitch, first, count);
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
