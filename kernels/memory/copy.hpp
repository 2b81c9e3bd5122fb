// SPDX-License-Identifier: Apache-2.0
// Copies made by the multiprocessors and not by a copy engine, wherever the memory lies.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace warpgauge::kernels {

// All launchers below: pointers are to memory that the device reaches (its own, managed, or
// page-locked host memory, which is then read and written over the bus: "zero copy") and do not
// overlap. Asynchronous on stream, can be captured into a graph. No bytes or no elements: nothing
// happens. Throw std::invalid_argument for a null or misaligned pointer or more than the limit
// named, std::runtime_error for a refused launch.

/// to[i] = from[i] for i < bytes, 16 bytes a thread, the last bytes % 16 one by one: bound by
/// device memory (bytes read and bytes written), or by the bus where one side is host memory.
/// from and to must be aligned to 16 bytes. bytes <= 2048 * (2^31 - 1).
void copy_bytes(const void* from, void* to, std::size_t bytes, cudaStream_t stream);

/// Writes one byte, `value`, at every multiple of `stride` bytes below `bytes`: one access a page
/// where the stride is a page, bound by what the first access to a page costs. Throws
/// std::invalid_argument also for a stride of 0. bytes / stride <= 128 * (2^31 - 1).
void touch(void* memory, std::size_t bytes, std::size_t stride, unsigned char value,
           cudaStream_t stream);

/// `height` rows of `width` elements each, which begin `pitch` elements apart.
struct PitchedRows {
  std::size_t height, width, pitch;
};

/// expected[i] = element (first + i) of a packed copy of the rows, for i < count: what a 2-D copy
/// is verified against. 1 <= width <= pitch; height * pitch * sizeof(float) <= 2^63 - 1; count <=
/// 256 * (2^31 - 1). Throws std::invalid_argument also when first + count is more than height *
/// width.
void packed_rows_reference(const float* rows, double* expected, PitchedRows shape,
                           std::size_t first, std::size_t count, cudaStream_t stream);

}  // namespace warpgauge::kernels
