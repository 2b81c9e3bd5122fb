// SPDX-License-Identifier: Apache-2.0
// What every launcher refuses, in one sentence, before it calls CUDA.
#pragma once

#include <cstddef>

namespace warpgauge::kernels {

/// Most blocks along a grid's x on every architecture since sm_30 (CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability").
inline constexpr std::size_t max_grid_blocks = 2'147'483'647;

/// Throws std::invalid_argument unless pointer is non-null and a multiple of alignment bytes.
/// launcher and name (of the parameter) begin the message.
void require_pointer(const char* launcher, const char* name, const void* pointer,
                     std::size_t alignment);

/// Throws std::invalid_argument when n elements are more than most.
void require_at_most(const char* launcher, std::size_t n, std::size_t most);

/// ceil(n / per_block) blocks, for n >= 1 elements.
/// Throws std::invalid_argument when that is more than max_grid_blocks.
unsigned blocks_for(const char* launcher, std::size_t n, std::size_t per_block);

}  // namespace warpgauge::kernels
