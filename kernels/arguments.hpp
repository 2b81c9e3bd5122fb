// SPDX-License-Identifier: Apache-2.0
// Argument checks that launchers of all families share, and the tiles of a matrix.
#pragma once

#include <cstddef>
#include <initializer_list>

#include <warpgauge/cuda/arguments.hpp>

namespace warpgauge::kernels {

/// An array argument of a launcher: the parameter's name, and the required alignment in bytes.
struct Array {
  template <class T>
  Array(const char* parameter, const T* first, std::size_t bytes = alignof(T))
      : name(parameter), data(first), alignment(bytes) {}

  const char* name;
  const void* data;
  std::size_t alignment;
};

/// Throws std::invalid_argument, beginning with launcher, for the first null or misaligned array.
void require_arrays(const char* launcher, std::initializer_list<Array> arrays);

/// Throws std::invalid_argument unless a signed 64-bit difference can count the bytes of the
/// matrix, which has at least one column.
void require_countable(const char* launcher, std::size_t rows, std::size_t columns,
                       std::size_t element_bytes);

struct Tiles {
  unsigned rows, columns;
  /// Blocks of a grid along x, one per tile, because y ends at 65535.
  unsigned blocks() const { return rows * columns; }
};

/// The tiles of tile_rows x tile_columns that cover a matrix of at least one element. Throws
/// std::invalid_argument if there are more than max_grid_blocks.
Tiles tiles_of(const char* launcher, std::size_t rows, std::size_t columns, unsigned tile_rows,
               unsigned tile_columns);

}  // namespace warpgauge::kernels
