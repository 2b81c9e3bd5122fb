// SPDX-License-Identifier: Apache-2.0
// A kernel that lasts a given time: something of a known length to measure.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace warpgauge::kernels {

/// Launches blocks of one warp; at the end each thread writes its number in the grid to
/// done[number], as any real kernel writes something. Each block reads its SM's clock until
/// `cycles` have passed since its first reading. In SM cycles, whose counter moves with every one,
/// and not in nanoseconds, whose counter (globaltimer) may stand still for 1 us: so the length is
/// steady, and known to what the SM clock is known to. The kernel lasts that long, and the launch
/// beside it, while all blocks fit on the GPU at once. Asynchronous on stream, can be captured into
/// a graph. Throws std::invalid_argument for 0 blocks, more than 2^31 - 1 or a null `done`,
/// std::runtime_error for a refused launch.
void spin(std::uint64_t cycles, unsigned blocks, float* done, cudaStream_t stream);

/// Threads of a block.
inline constexpr unsigned spin_threads = 32;

}  // namespace warpgauge::kernels
