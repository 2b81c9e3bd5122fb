// SPDX-License-Identifier: Apache-2.0
// C[m,n] = A[m,k] * B[k,n] in fp32 without tensor cores, rung by rung: each changes one thing.
// Shapes, errors and limits are those of gemm.hpp, which declares the first and the third rung.
#pragma once

#include <array>

#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {

// All launchers below take any shape and need pointers aligned to 4 bytes only. Rungs that copy 16
// bytes at a time do so if rows are aligned to 16 bytes (by the pointer and n, for A also k).
// Otherwise they run a variant of their kernel that copies 4. At most 2^31 - 1 output tiles, whose
// size is in the table at the end.

/// Rung 2. Neighbouring threads compute neighbouring columns, so that loads are whole cache lines.
/// Bound by L1, with two loads per multiply-add.
void gemm_coalesced(const float* a, const float* b, float* c, GemmShape shape, cudaStream_t stream);

/// Rung 4. 8 outputs per thread, in registers. Bound by shared memory, 9 loads per 8 multiply-adds.
void gemm_register_1d(const float* a, const float* b, float* c, GemmShape shape,
                      cudaStream_t stream);

/// Rung 5. 8 x 8 outputs per thread, in registers. Bound by shared memory and waiting for tiles.
void gemm_register_2d(const float* a, const float* b, float* c, GemmShape shape,
                      cudaStream_t stream);

/// Rung 6. 16-byte loads and stores, in device and shared memory. Bound by waiting for tiles.
void gemm_vectorized(const float* a, const float* b, float* c, GemmShape shape,
                     cudaStream_t stream);

/// Rung 7. The next tile is copied into a second buffer (cp.async) while this one is multiplied.
/// Bound by the instructions beside the multiply-adds.
void gemm_double_buffered(const float* a, const float* b, float* c, GemmShape shape,
                          cudaStream_t stream);

/// Rung 8. Each warp computes a 64 x 64 square, 16 x 8 outputs per thread, with copies two tiles
/// ahead. Bound by the rate of multiply-adds.
void gemm_warp_tile(const float* a, const float* b, float* c, GemmShape shape, cudaStream_t stream);

/// A rung: its name, its launcher, and the outputs that a block computes.
struct GemmRung {
  const char* name;
  void (*launch)(const float* a, const float* b, float* c, GemmShape shape, cudaStream_t stream);
  std::size_t tile_rows, tile_columns;
};

/// The ladder, slowest first.
inline constexpr std::array<GemmRung, 8> gemm_ladder{{
    {"naive", gemm_naive, 32, 32},
    {"coalesced", gemm_coalesced, 32, 32},
    {"tiled", gemm_tiled, 32, 32},
    {"register_1d", gemm_register_1d, 64, 64},
    {"register_2d", gemm_register_2d, 128, 128},
    {"vectorized", gemm_vectorized, 128, 128},
    {"double_buffered", gemm_double_buffered, 128, 128},
    {"warp_tile", gemm_warp_tile, 128, 128},
}};

}  // namespace warpgauge::kernels
