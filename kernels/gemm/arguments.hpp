// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/gemm/gemm.hpp"

namespace warpgauge::kernels {

/// Edge of the square of outputs that one block of gemm_naive or gemm_tiled computes.
inline constexpr unsigned gemm_tile = 32;
inline constexpr unsigned gemm_tile_threads = gemm_tile * gemm_tile;

/// Bytes that a thread of the tensor-core rungs copies at once, and the alignment of their
/// matrices. The banks of shared memory serve eight threads with as many each at once.
inline constexpr unsigned chunk_bytes = 16;

/// Whether every row of A, B and C is whole chunks.
bool has_whole_chunks(GemmShape shape, std::size_t element_bytes);

/// Returns `bytes`; throws std::invalid_argument if it is 0.
std::size_t require_workspace(const char* owner, std::size_t bytes);

/// How messages about a shape begin.
std::string describe(const char* launcher, GemmShape shape);

/// Throws std::invalid_argument for k = 0.
void require_terms(const char* launcher, GemmShape shape);

/// Throws std::invalid_argument if k = 0, if an input is null or not aligned to `alignment` bytes,
/// or if a signed 64-bit difference cannot count the bytes of a matrix of doubles. Requires m and
/// n > 0.
void require_gemm(const char* launcher, const void* a, const void* b, std::size_t alignment,
                  GemmShape shape);

}  // namespace warpgauge::kernels
