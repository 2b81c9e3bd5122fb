// SPDX-License-Identifier: Apache-2.0
// out[j][i] = in[i][j]: 4 bytes read and 4 written an element, bound by memory bandwidth where both
// are read and written by whole cache lines.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace warpgauge::kernels {

/// Of the input, row-major and contiguous; the output has `columns` rows of `rows`.
struct TransposeShape {
  std::size_t rows, columns;
};

// All launchers below: in and out are device matrices that do not overlap. Asynchronous on stream,
// can be captured into a graph. No rows or no columns: nothing happens, whatever the pointers.
// Throw std::invalid_argument for a null or misaligned pointer or a shape past the limit named,
// std::runtime_error for a refused launch.

/// One element a thread, straight from in to out: reads are whole cache lines, each write is a
/// sector of its own. At most 2^31 - 1 tiles of 32 x 8.
void transpose_naive(const float* in, float* out, TransposeShape shape, cudaStream_t stream);

/// Through a tile of 32 x 32 in shared memory, so that writes are whole cache lines too. The tile's
/// columns are read from one bank of the 32. At most 2^31 - 1 tiles of 32 x 32.
void transpose_tiled(const float* in, float* out, TransposeShape shape, cudaStream_t stream);

/// The same with a 33rd column in the tile, which spreads its columns over all banks.
void transpose_padded(const float* in, float* out, TransposeShape shape, cudaStream_t stream);

/// Each thread transposes 4 x 4 elements in registers, so that every access is of 16 bytes; tiles
/// in shared memory are swizzled instead of padded. rows and columns are multiples of 4, in and out
/// are aligned to 16 bytes. At most 2^31 - 1 tiles of 64 x 64.
void transpose_vec4(const float* in, float* out, TransposeShape shape, cudaStream_t stream);

/// expected[i] = element first + i of the flattened output, i < count. count = 0 does nothing. Also
/// throws std::invalid_argument when first + count is more than rows * columns.
void transpose_reference(const float* in, double* expected, TransposeShape shape, std::size_t first,
                         std::size_t count, cudaStream_t stream);

}  // namespace warpgauge::kernels
