// SPDX-License-Identifier: Apache-2.0
// References of operations on rows, in double precision: one block per row, which goes through it
// as often as the formula does. For verification, not for speed.
#pragma once

#include <algorithm>
#include <initializer_list>

#include <warpgauge/cuda/check.hpp>
#include "kernels/arguments.hpp"
#include "kernels/reduce/block_tree.cuh"
#include "kernels/reduce/rows.hpp"

namespace warpgauge::kernels {

inline constexpr unsigned row_reference_threads = 512;

/// Folds value(i) over all columns; every thread has the result. scratch belongs to the block.
template <class Value, class Fold>
__device__ double over_row(std::size_t columns, double start,
                           double (&scratch)[row_reference_threads], const Value& value,
                           const Fold& fold) {
  double result = start;
  for (std::size_t i = threadIdx.x; i < columns; i += row_reference_threads) {
    result = fold(result, value(i));
  }
  __syncthreads();  // an earlier call may still read scratch
  combine_as_tree(scratch, result, fold);
  __syncthreads();
  return scratch[0];
}

/// The elements of a flattened matrix from `first` on; the block's rows begin with first's row.
struct RowsWindow {
  std::size_t columns, first, count;

  /// Calls store(i, its place in the output) for every column i of the row inside the window.
  template <class Store>
  __device__ void for_each(std::size_t row, const Store& store) const {
    for (std::size_t i = threadIdx.x; i < columns; i += row_reference_threads) {
      const std::size_t at = row * columns + i;
      if (at >= first && at - first < count) {
        store(i, at - first);
      }
    }
  }
};

/// Calls launch(rows that the window touches, blocks: one per row, up to what a grid holds).
template <class Launch>
void launch_over(const char* launcher, RowsShape shape, RowsWindow window,
                 std::initializer_list<Array> arrays, const Launch& launch) {
  if (window.count == 0 || shape.rows == 0 || shape.columns == 0) {
    return;
  }
  require_countable(launcher, shape.rows, shape.columns, sizeof(double));
  require_window(launcher, window.first, window.count, shape.rows * shape.columns, "the matrix");
  require_arrays(launcher, arrays);
  const std::size_t last = window.first + window.count - 1;
  const std::size_t rows = last / shape.columns - window.first / shape.columns + 1;
  launch(rows, static_cast<unsigned>(std::min(rows, max_grid_blocks)));
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
