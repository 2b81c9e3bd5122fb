// SPDX-License-Identifier: Apache-2.0
// Numbered, cooperative and clustered blocks: bound by starting and synchronising blocks.
#include "kernels/launch/blocks.hpp"

#include <cooperative_groups.h>

#include <stdexcept>
#include <string>

#include "kernels/launch_elements.cuh"

namespace warpgauge::kernels {

inline constexpr unsigned exchange_threads = 32;

__global__ __launch_bounds__(exchange_threads) void number_blocks_kernel(float* out) {
  if (threadIdx.x == 0) {
    out[blockIdx.x] = static_cast<float>(blockIdx.x);
  }
}

__global__ __launch_bounds__(exchange_threads) void exchange_in_grid_kernel(float* middle,
                                                                            float* out) {
  if (threadIdx.x == 0) {
    middle[blockIdx.x] = static_cast<float>(blockIdx.x);
  }
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) {
    const unsigned next = blockIdx.x + 1 == gridDim.x ? 0 : blockIdx.x + 1;
    out[blockIdx.x] = middle[next];
  }
}

__global__ __launch_bounds__(exchange_threads) void exchange_in_cluster_kernel(float* out) {
#if __CUDA_ARCH__ >= 900
  __shared__ float mine;
  const auto cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) {
    mine = static_cast<float>(blockIdx.x);
  }
  cluster.sync();
  if (threadIdx.x == 0) {
    const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    out[blockIdx.x] = *cluster.map_shared_rank(&mine, next);
  }
  cluster.sync();  // no block may exit while another one reads its shared memory
#endif
}

__global__ void exchange_reference_kernel(double* expected, std::size_t first, std::size_t count,
                                          std::size_t group) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) {
    const std::size_t block = first + i;
    const std::size_t start = block / group * group;
    expected[i] = static_cast<double>(start + (block - start + 1) % group);
  }
}

namespace {

void require_blocks(const char* launcher, std::size_t blocks) {
  if (blocks > most_numbered_blocks) {
    throw std::invalid_argument(std::string(launcher) + ": " + std::to_string(blocks) +
                                " blocks are more than " + std::to_string(most_numbered_blocks));
  }
}

}  // namespace

void number_blocks(float* out, std::size_t blocks, cudaStream_t stream) {
  if (blocks == 0) {
    return;
  }
  require_blocks("number_blocks", blocks);
  require_pointer("number_blocks", "out", out, alignof(float));
  number_blocks_kernel<<<static_cast<unsigned>(blocks), exchange_threads, 0, stream>>>(out);
  WARPGAUGE_CHECK(cudaGetLastError());
}

void exchange_in_grid(float* middle, float* out, std::size_t blocks, cudaStream_t stream) {
  if (blocks == 0) {
    return;
  }
  require_blocks("exchange_in_grid", blocks);
  require_arrays("exchange_in_grid", {{"middle", middle}, {"out", out}});
  void* arguments[] = {&middle, &out};
  WARPGAUGE_CHECK(cudaLaunchCooperativeKernel(
      reinterpret_cast<const void*>(&exchange_in_grid_kernel), dim3(static_cast<unsigned>(blocks)),
      dim3(exchange_threads), arguments, 0, stream));
}

void exchange_in_cluster(float* out, std::size_t blocks, std::size_t cluster, cudaStream_t stream) {
  if (blocks == 0) {
    return;
  }
  require_blocks("exchange_in_cluster", blocks);
  require_pointer("exchange_in_cluster", "out", out, alignof(float));
  if (cluster == 0 || cluster > most_cluster_blocks || blocks % cluster != 0) {
    throw std::invalid_argument("exchange_in_cluster: clusters of " + std::to_string(cluster) +
                                " blocks; from 1 to " + std::to_string(most_cluster_blocks) +
                                " that divide the " + std::to_string(blocks) +
                                " blocks are possible");
  }
  require_compute_capability_of<exchange_in_cluster_kernel>("exchange_in_cluster", 9);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(exchange_threads);
  config.stream = stream;
  cudaLaunchAttribute clusters{};
  clusters.id = cudaLaunchAttributeClusterDimension;
  clusters.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  config.attrs = &clusters;
  config.numAttrs = 1;
  WARPGAUGE_CHECK(cudaLaunchKernelEx(&config, exchange_in_cluster_kernel, out));
}

void exchange_reference(double* expected, std::size_t first, std::size_t count, std::size_t group,
                        cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  require_blocks("exchange_reference", first);
  require_blocks("exchange_reference", count);
  if (group == 0) {
    throw std::invalid_argument("exchange_reference: groups of 0 blocks, at least 1 is needed");
  }
  launch_elements({"exchange_reference", count, 256}, {{"expected", expected}}, stream,
                  exchange_reference_kernel, expected, first, count, group);
}

}  // namespace warpgauge::kernels
