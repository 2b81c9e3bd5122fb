// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {

/// Edge of the square of outputs that one block of gemm_naive and gemm_tiled makes.
inline constexpr unsigned gemm_tile = 32;
inline constexpr unsigned gemm_tile_threads = gemm_tile * gemm_tile;

/// What a thread of the tensor-core rungs copies at once, to which their matrices are aligned, and
/// what the banks of shared memory serve eight threads with.
inline constexpr unsigned chunk_bytes = 16;

/// Whether every row of A, B and C is whole chunks.
bool has_whole_chunks(GemmShape shape, std::size_t element_bytes);

/// Its argument; throws std::invalid_argument when that is 0.
std::size_t require_workspace(const char* owner, std::size_t bytes);

/// How messages about a shape begin.
std::string describe(const char* launcher, GemmShape shape);

/// Throws std::invalid_argument for k = 0.
void require_terms(const char* launcher, GemmShape shape);

/// Throws std::invalid_argument for k = 0, an input that is null or no multiple of alignment bytes,
/// or a matrix whose bytes, as doubles, a signed 64-bit difference does not count. For shapes with
/// m and n > 0.
void require_gemm(const char* launcher, const void* a, const void* b, std::size_t alignment,
                  GemmShape shape);

}  // namespace warpgauge::kernels
