// SPDX-License-Identifier: Apache-2.0
// What launchers of Hopper kernels need on the host, whatever their family.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace warpgauge::kernels {

/// Whether the current device has wgmma: only compute capability 9.0 does.
/// Throws std::runtime_error when CUDA fails.
bool has_wgmma();

namespace hopper {

/// Throws std::runtime_error, beginning with launcher, on a device without wgmma.
void require_wgmma(const char* launcher);

/// Describes a row-major, contiguous matrix for copies in boxes of box_rows rows of 128 bytes, the
/// widest row that the 128-byte swizzle supports; elements of 1, 2 or 4 bytes; those outside the
/// matrix read as zero. The matrix is aligned to 16 bytes, and so is each row. Throws
/// std::runtime_error, beginning with launcher, if the driver refuses it.
CUtensorMap tensor_map(const char* launcher, const void* matrix, std::size_t rows,
                       std::size_t columns, unsigned box_rows, unsigned element_bytes);

/// The same for `matrices` matrices that follow each other; a box does not reach into the next.
CUtensorMap tensor_map(const char* launcher, const void* first, std::size_t matrices,
                       std::size_t rows, std::size_t columns, unsigned box_rows,
                       unsigned element_bytes);

}  // namespace hopper
}  // namespace warpgauge::kernels
