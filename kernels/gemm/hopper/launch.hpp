// SPDX-License-Identifier: Apache-2.0
// How the rungs for Hopper are launched.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels::hopper {

/// The one parameter of each of these kernels, a __grid_constant__: TMA reads a tensor map where it
/// lies, and there it is captured with a launch.
struct WgmmaArguments {
  CUtensorMap a_map, b_map, c_map;
  void* c;
  unsigned m, n, k;
  unsigned tile_rows, tile_columns;  ///< of C, counted in tiles
};

/// What a rung asks for, beside its kernel.
struct WgmmaLaunch {
  const char* launcher;              ///< begins the messages
  unsigned tile_rows, tile_columns;  ///< outputs of a block
  unsigned threads;
  unsigned shared_bytes;
  bool persistent = false;    ///< as many blocks as run at once, not one a tile
  unsigned cluster = 1;       ///< blocks of a cluster, whose tiles lie one below the other
  bool splits_terms = false;  ///< clusters of 1 to 8 blocks make one tile together
  bool b_is_k_major = false;  ///< B is [n,k]
  unsigned input_bytes = 2;   ///< of an element of A and B
  unsigned output_bytes = 2;
};

/// Launches kernel(WgmmaArguments) with maps of a, b and c: A is read in boxes of a tile's rows, B
/// of 64 rows or, K-major, of a block's share of a tile's columns, C is written in boxes of 64
/// rows, all of 128 bytes a row. Does nothing, refuses and throws as hopper.hpp says.
void launch_wgmma(const WgmmaLaunch& launch, void (*kernel)(WgmmaArguments), const void* a,
                  const void* b, void* c, GemmShape shape, cudaStream_t stream);

}  // namespace warpgauge::kernels::hopper
