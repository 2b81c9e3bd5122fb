// SPDX-License-Identifier: Apache-2.0
// out[j][i] = in[i][j] reads 4 bytes and writes 4 per element. Bound by memory bandwidth if reads
// and writes are whole cache lines.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace warpgauge::kernels {

/// The input's shape, row-major and contiguous; the output has `columns` rows of `rows` elements.
struct TransposeShape {
  std::size_t rows, columns;
};

// All launchers below: in and out are device matrices that do not overlap. Asynchronous on stream;
// can be captured into a graph. No rows or no columns: they do nothing, whatever the pointers.
// Throw std::invalid_argument for a null or misaligned pointer or a shape above the stated limit,
// std::runtime_error for a refused launch.

/// One element per thread, straight from in to out: reads are whole cache lines, but each write is
/// a sector of its own. At most 2^31 - 1 tiles of 32 x 8.
void transpose_naive(const float* in, float* out, TransposeShape shape, cudaStream_t stream);

/// Through a tile of 32 x 32 in shared memory, so that writes are whole cache lines too. Each
/// column of the tile lies in one of the 32 banks. At most 2^31 - 1 tiles of 32 x 32.
void transpose_tiled(const float* in, float* out, TransposeShape shape, cudaStream_t stream);

/// The same with a 33rd column in the tile, which spreads its columns over all banks.
void transpose_padded(const float* in, float* out, TransposeShape shape, cudaStream_t stream);

/// Each thread transposes 4 x 4 elements in registers, so that every access is 16 bytes. Tiles in
/// shared memory are swizzled instead of padded. rows and columns are multiples of 4; in and out
/// are aligned to 16 bytes. At most 2^31 - 1 tiles of 64 x 64.
void transpose_vec4(const float* in, float* out, TransposeShape shape, cudaStream_t stream);

/// expected[i] = element first + i of the flattened output for i < count. count = 0 does nothing.
/// Also throws std::invalid_argument if first + count > rows * columns.
void transpose_reference(const float* in, double* expected, TransposeShape shape, std::size_t first,
                         std::size_t count, cudaStream_t stream);

}  // namespace warpgauge::kernels
