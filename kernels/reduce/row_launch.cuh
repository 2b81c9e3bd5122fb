// SPDX-License-Identifier: Apache-2.0
// Chooses the threads that hold a row by its bytes, and launches a kernel with them.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include <warpgauge/cuda/check.hpp>
#include "kernels/arguments.hpp"
#include "kernels/reduce/row_in_registers.cuh"
#include "kernels/reduce/rows.hpp"

namespace warpgauge::kernels {

/// Throws std::invalid_argument for a row of T that does not fit in registers or is not whole
/// 16-byte vectors, and if a signed 64-bit difference cannot count the bytes of the matrix.
template <class T>
void require_held_rows(const char* launcher, RowsShape shape) {
  require_countable(launcher, shape.rows, shape.columns, sizeof(T));
  constexpr std::size_t most = most_held_row_bytes / sizeof(T);
  if (shape.columns > most || shape.columns % vector_elements<T> != 0) {
    throw std::invalid_argument(std::string(launcher) + ": rows of " +
                                std::to_string(shape.columns) + "; it takes multiples of " +
                                std::to_string(vector_elements<T>) + " up to " +
                                std::to_string(most));
  }
}

/// One block or cluster per row, up to what a grid holds; the kernel loops over the other rows. A
/// block gets `shared_bytes` of dynamic shared memory.
template <class Shape, auto kernel, unsigned shared_bytes = 0, class... Arguments>
void launch_rows(const char* launcher, std::size_t rows, cudaStream_t stream,
                 Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim =
      static_cast<unsigned>(std::min(rows, max_grid_blocks / Shape::blocks) * Shape::blocks);
  config.blockDim = Shape::threads;
  config.stream = stream;
  if constexpr (shared_bytes > 0) {
    config.dynamicSmemBytes = shared_bytes;
    WARPGAUGE_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  }
  cudaLaunchAttribute cluster{};
  if constexpr (Shape::blocks > 1) {
    require_compute_capability_of<kernel>(launcher, 9);
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = Shape::blocks;
    cluster.val.clusterDim.y = 1;
    cluster.val.clusterDim.z = 1;
    config.attrs = &cluster;
    config.numAttrs = 1;
  }
  WARPGAUGE_CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

/// Calls launch(RowShape, vectors of a row) with the smallest shape that holds a row of T.
/// require_held_rows() must have accepted the row.
template <class T, class Launch>
void with_row_shape(RowsShape shape, const Launch& launch) {
  const auto vectors = static_cast<unsigned>(shape.columns / vector_elements<T>);
  const auto fits = [&]<class Shape>(Shape tried) {
    if (vectors > Shape::most_vectors) {
      return false;
    }
    launch(tried, vectors);
    return true;
  };
  // Smallest first; from 2 KiB on, each is twice the one before, because a half-empty shape takes
  // as long as a full one. The last holds most_held_row_bytes.
  static_cast<void>(fits(RowShape<64, 2>{}) || fits(RowShape<64, 4>{}) ||
                    fits(RowShape<128, 4>{}) || fits(RowShape<256, 4>{}) ||
                    fits(RowShape<256, 8>{}) || fits(RowShape<512, 8>{}) ||
                    fits(RowShape<512, 8, 2>{}) || fits(RowShape<512, 8, 4>{}));
}

}  // namespace warpgauge::kernels
