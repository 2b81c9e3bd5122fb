// SPDX-License-Identifier: Apache-2.0
// What the tensor-core rungs ask before they launch.
#pragma once

#include "kernels/arguments.hpp"
#include "kernels/gemm_arguments.hpp"

namespace warpgauge::kernels {

/// The outputs cut into tiles; blocks = rows * columns.
struct TensorTiles {
  unsigned blocks;
  std::size_t rows, columns;
};

/// Throws std::invalid_argument when there are more than max_grid_blocks tiles of tile_m x tile_n.
TensorTiles tensor_tiles(const char* launcher, GemmShape shape, unsigned tile_m, unsigned tile_n);

/// require_gemm, c too, each aligned to the 16 bytes that are copied at once.
void require_tensor_gemm(const char* launcher, const void* a, const void* b, const void* c,
                         GemmShape shape);

/// Whether every row of A, B and C begins at a multiple of 16 bytes.
bool has_whole_chunks(GemmShape shape, std::size_t element_bytes);

/// Throws std::runtime_error below compute capability 8.0, which has neither bf16 nor TF32 nor
/// asynchronous copies to shared memory.
void require_ampere(const char* launcher);

/// Lets the kernel take this much shared memory. Throws std::runtime_error when the device has
/// less.
void allow_shared_memory(const char* launcher, const void* kernel, unsigned bytes);

}  // namespace warpgauge::kernels
