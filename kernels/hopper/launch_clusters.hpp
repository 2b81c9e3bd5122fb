// SPDX-License-Identifier: Apache-2.0
// Launches a kernel with one parameter and much shared memory, in clusters of blocks.
#pragma once

#include <cuda_runtime_api.h>

#include <warpgauge/cuda/check.hpp>

namespace warpgauge::kernels::hopper {

/// Along x. `blocks` is a multiple of `cluster`.
struct ClusterLaunch {
  unsigned blocks, cluster, threads, shared_bytes;
};

/// Throws std::runtime_error if CUDA refuses the launch. The parameter is a __grid_constant__, so
/// that TMA finds the tensor maps in it; a graph captures it with the launch.
template <class Arguments>
void launch_clusters(const ClusterLaunch& launch, void (*kernel)(Arguments), Arguments arguments,
                     cudaStream_t stream) {
  const auto* function = reinterpret_cast<const void*>(kernel);
  WARPGAUGE_CHECK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(launch.shared_bytes)));
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {launch.cluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = {launch.blocks, 1, 1};
  config.blockDim = {launch.threads, 1, 1};
  config.dynamicSmemBytes = launch.shared_bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  void* parameters[]{&arguments};
  WARPGAUGE_CHECK(cudaLaunchKernelExC(&config, function, parameters));
}

}  // namespace warpgauge::kernels::hopper
