// SPDX-License-Identifier: Apache-2.0
// Copies by the multiprocessors instead of a copy engine, in any memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace warpgauge::kernels {

// All launchers below: pointers are to memory that the device can access (its own, managed, or
// page-locked host memory, which it then reads and writes over the bus: "zero copy") and do not
// overlap. Asynchronous on stream; can be captured into a graph. No bytes or no elements: do
// nothing. Throw std::invalid_argument for a null or misaligned pointer or more than the stated
// limit, std::runtime_error for a refused launch.

/// to[i] = from[i] for i < bytes, 16 bytes per thread, the last bytes % 16 one by one. Bound by
/// device memory (bytes read and written), or by the bus if one side is host memory. from and to
/// must be aligned to 16 bytes. bytes <= 2048 * (2^31 - 1).
void copy_bytes(const void* from, void* to, std::size_t bytes, cudaStream_t stream);

/// Writes one byte, `value`, at every multiple of `stride` bytes below `bytes`. If the stride is a
/// page, that is one access per page, bound by the cost of the first access. Also throws
/// std::invalid_argument for a stride of 0. bytes / stride <= 128 * (2^31 - 1).
void touch(void* memory, std::size_t bytes, std::size_t stride, unsigned char value,
           cudaStream_t stream);

/// `height` rows of `width` elements each, which begin `pitch` elements apart.
struct PitchedRows {
  std::size_t height, width, pitch;
};

/// expected[i] = element (first + i) of a packed copy of the rows, for i < count: the reference for
/// 2-D copies. 1 <= width <= pitch; height * pitch * sizeof(float) <= 2^63 - 1; count <= 256 *
/// (2^31 - 1). Also throws std::invalid_argument if first + count > height * width.
void packed_rows_reference(const float* rows, double* expected, PitchedRows shape,
                           std::size_t first, std::size_t count, cudaStream_t stream);

}  // namespace warpgauge::kernels
