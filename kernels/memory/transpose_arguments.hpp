// SPDX-License-Identifier: Apache-2.0
// What the transposes refuse, and how many tiles they need.
#pragma once

#include "kernels/memory/transpose.hpp"

namespace warpgauge::kernels {

/// Tiles along the rows and along the columns of the input.
struct TransposeTiles {
  unsigned rows, columns;
};

/// Tiles of rows x columns that cover a shape of at least one element.
/// Throws std::invalid_argument when they are more than max_grid_blocks.
TransposeTiles transpose_tiles(const char* launcher, TransposeShape shape, unsigned rows,
                               unsigned columns);

/// Throws std::invalid_argument unless the pointers are good and the matrix's bytes, also as
/// doubles, can be counted in 64 bits.
void require_transpose(const char* launcher, const void* in, const void* out, std::size_t alignment,
                       TransposeShape shape);

/// The same for a reference, whose window of count elements from first on must lie in the matrix.
void require_transpose_window(const char* launcher, const void* in, const void* expected,
                              TransposeShape shape, std::size_t first, std::size_t count);

/// Throws std::invalid_argument unless both sides are multiples of `of`.
void require_multiple(const char* launcher, TransposeShape shape, std::size_t of);

}  // namespace warpgauge::kernels
