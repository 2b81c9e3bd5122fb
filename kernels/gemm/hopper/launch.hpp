// SPDX-License-Identifier: Apache-2.0
// Launches the Hopper kernels.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/arguments.hpp"
#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels::hopper {

/// Dynamic shared memory of a block on compute capability 9.0.
inline constexpr unsigned most_shared_bytes = 232'448;

/// What stream-K divides among its clusters, and where they pass on partial sums. See stream_k.cuh.
struct SplitTiles {
  unsigned clusters = 0;  ///< to launch; 0 without stream-K
  unsigned tiles = 0;     ///< whose stages all clusters share; they make the others whole
  float* partial_sums = nullptr;
  unsigned* ready = nullptr;
};

/// The only parameter of each kernel, a __grid_constant__: TMA reads the tensor maps from parameter
/// memory, and a graph captures them with the launch.
struct WgmmaArguments {
  CUtensorMap a_map, b_map, c_map;
  void* c;
  unsigned m, n, k;
  unsigned tile_rows, tile_columns;  ///< extents of C in tiles
  SplitTiles split;
};

/// When a kernel starts: after those before it in the stream, or while they still run. Then it
/// calls wait_for_kernels_before() before it uses global memory.
enum class Start : std::uint8_t { in_order, early };

/// Launch parameters of a rung.
struct WgmmaLaunch {
  const char* launcher;              ///< prefix of error messages
  unsigned tile_rows, tile_columns;  ///< outputs per block
  unsigned threads = 0;
  unsigned shared_bytes = 0;
  bool persistent = false;  ///< at most as many blocks as run at once, instead of one per tile
  Start start = Start::in_order;
  unsigned cluster = 1;       ///< blocks per cluster; their tiles lie one below the other
  unsigned splits = 1;        ///< blocks per cluster that make one tile together, if cluster is 1
  bool b_is_k_major = false;  ///< B is [n,k]
  unsigned a_box_rows = 0;    ///< rows of a box of A; 0: those of a tile
  unsigned b_box_rows = 64;   ///< rows of a box of B
  unsigned input_bytes = 2;   ///< size of an element of A and B
  unsigned output_bytes = 2;
  SplitTiles split{};
};

/// Throws std::invalid_argument for a shape that no rung with these launch parameters takes, see
/// hopper.hpp. Otherwise returns the extents of C in clusters' tiles. Requires m and n > 0.
Tiles require_wgmma_shape(const WgmmaLaunch& launch, GemmShape shape);

/// Throws what launch_wgmma() throws before it launches, and returns what require_wgmma_shape()
/// does. Requires m and n > 0.
Tiles require_wgmma_product(const WgmmaLaunch& launch, const void* a, const void* b, const void* c,
                            GemmShape shape);

/// How many clusters the current device runs at once, for a kernel of one block per multiprocessor:
/// fewer than its multiprocessors hold, because those of a cluster belong to one group of them (30
/// clusters of four on an H200 of 132 multiprocessors). Asks CUDA once for each kernel, number of
/// blocks and device. Throws std::runtime_error if CUDA fails.
unsigned clusters_at_once(const WgmmaLaunch& launch, void (*kernel)(WgmmaArguments));

/// Launches kernel(WgmmaArguments) with tensor maps of a, b and c. All boxes are 128 bytes wide;
/// one of C has 64 rows. Conditions and exceptions: see hopper.hpp.
void launch_wgmma(const WgmmaLaunch& launch, void (*kernel)(WgmmaArguments), const void* a,
                  const void* b, void* c, GemmShape shape, cudaStream_t stream);

}  // namespace warpgauge::kernels::hopper
