// SPDX-License-Identifier: Apache-2.0
// Grids of blocks of one warp that do nothing but show that they ran, alone or together: bound by
// how fast the device hands out blocks and brings them together.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace warpgauge::kernels {

/// Most blocks that all below launch: a float holds every number up to this.
inline constexpr std::size_t most_numbered_blocks = std::size_t{1} << 24;

/// Most blocks of a cluster on every device that has clusters (CUDA C++ Programming Guide,
/// "Thread Block Clusters").
inline constexpr std::size_t most_cluster_blocks = 8;

// All below: out, middle and expected are device arrays of a value a block. Asynchronous on stream,
// can be captured into a graph. 0 blocks do nothing. Throw std::invalid_argument for a null or
// misaligned pointer or more than most_numbered_blocks, std::runtime_error for a refused launch.

/// out[b] = b: each block its own number.
void number_blocks(float* out, std::size_t blocks, cudaStream_t stream);

/// middle[b] = b, and when every block of the grid has written its own, out[b] = middle[b + 1],
/// that of block 0 for the last. A cooperative launch: std::runtime_error when not all blocks find
/// room on the device at once.
void exchange_in_grid(float* middle, float* out, std::size_t blocks, cudaStream_t stream);

/// The same among the blocks of each cluster, through their shared memory: out[b] is the number of
/// the next block of the cluster. Throws std::invalid_argument also unless cluster is from 1 to
/// most_cluster_blocks and divides blocks, std::runtime_error where the device's compute capability
/// is below 9.0.
void exchange_in_cluster(float* out, std::size_t blocks, std::size_t cluster, cudaStream_t stream);

/// expected[i] is what block first + i < blocks wrote when `group` blocks exchanged: 1 for
/// number_blocks, all of them for exchange_in_grid, cluster for exchange_in_cluster. Throws
/// std::invalid_argument also when group is 0.
void exchange_reference(double* expected, std::size_t first, std::size_t count, std::size_t group,
                        cudaStream_t stream);

}  // namespace warpgauge::kernels
