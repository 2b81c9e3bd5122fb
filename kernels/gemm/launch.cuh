// SPDX-License-Identifier: Apache-2.0
// Launches every rung, on tensor cores or not.
#pragma once

#include <cstddef>

#include <warpgauge/cuda/check.hpp>
#include "kernels/arguments.hpp"
#include "kernels/gemm/arguments.hpp"

namespace warpgauge::kernels {

/// The launch parameters of a rung, except its kernel.
struct GemmLaunch {
  const char* launcher;                    ///< begins the messages
  unsigned tile_rows, tile_columns;        ///< outputs of a block
  dim3 threads;                            ///< of a block
  std::size_t alignment = alignof(float);  ///< of each matrix, in bytes
  unsigned dynamic_shared_bytes = 0;
};

/// Launches kernel(a, b, c, shape, columns of tiles) or kernel(a, b, c, shape, rows, columns of
/// tiles) with one block per tile. Checks its arguments and throws like the launchers of gemm.hpp.
template <class T, class... TileCounts>
void launch_gemm(const GemmLaunch& launch,
                 void (*kernel)(const T*, const T*, T*, GemmShape, TileCounts...), const T* a,
                 const T* b, T* c, GemmShape shape, cudaStream_t stream) {
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  require_gemm(launch.launcher, a, b, launch.alignment, shape);
  require_pointer(launch.launcher, "c", c, launch.alignment);
  const Tiles tiles =
      tiles_of(launch.launcher, shape.m, shape.n, launch.tile_rows, launch.tile_columns);
  if (launch.dynamic_shared_bytes > 0) {
    WARPGAUGE_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                         cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(launch.dynamic_shared_bytes)));
  }
  const auto run = [&](auto... counts) {
    kernel<<<tiles.blocks(), launch.threads, launch.dynamic_shared_bytes, stream>>>(a, b, c, shape,
                                                                                    counts...);
  };
  if constexpr (sizeof...(TileCounts) == 1) {
    run(tiles.columns);
  } else {
    run(tiles.rows, tiles.columns);
  }
  WARPGAUGE_CHECK(cudaGetLastError());
}

}  // namespace warpgauge::kernels
