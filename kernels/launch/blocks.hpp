// SPDX-License-Identifier: Apache-2.0
// Grids of one-warp blocks that only show that they ran, alone or together. Bound by how fast the
// device starts blocks and synchronises them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace warpgauge::kernels {

/// Most blocks of any launch below: a float holds every integer up to this.
inline constexpr std::size_t most_numbered_blocks = std::size_t{1} << 24;

/// Most blocks of a cluster on every device with clusters (CUDA C++ Programming Guide, "Thread
/// Block Clusters").
inline constexpr std::size_t most_cluster_blocks = 8;

// All below: out, middle and expected are device arrays with one value per block. Asynchronous on
// stream; can be captured into a graph. 0 blocks do nothing. Throw std::invalid_argument for a null
// or misaligned pointer or more than most_numbered_blocks, std::runtime_error for a refused launch.

/// out[b] = b: each block writes its own number.
void number_blocks(float* out, std::size_t blocks, cudaStream_t stream);

/// middle[b] = b; when every block of the grid has written it, out[b] = middle[b + 1], for the last
/// block middle[0]. The launch is cooperative: it throws std::runtime_error if the device cannot
/// hold all blocks at once.
void exchange_in_grid(float* middle, float* out, std::size_t blocks, cudaStream_t stream);

/// The same within each cluster, through shared memory: out[b] is the number of the next block of
/// the cluster. Also throws std::invalid_argument unless cluster is from 1 to most_cluster_blocks
/// and divides blocks, and std::runtime_error if the device's compute capability is below 9.0.
void exchange_in_cluster(float* out, std::size_t blocks, std::size_t cluster, cudaStream_t stream);

/// expected[i] is what block first + i < blocks writes when `group` blocks exchange: 1 for
/// number_blocks, all of them for exchange_in_grid, cluster for exchange_in_cluster. Also throws
/// std::invalid_argument if group is 0.
void exchange_reference(double* expected, std::size_t first, std::size_t count, std::size_t group,
                        cudaStream_t stream);

}  // namespace warpgauge::kernels
