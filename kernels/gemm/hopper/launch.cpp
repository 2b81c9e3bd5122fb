// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/hopper/launch.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

#include <warpgauge/cuda/arguments.hpp>
#include <warpgauge/cuda/check.hpp>
#include <warpgauge/cuda/current_device.hpp>
#include "kernels/arguments.hpp"
#include "kernels/gemm/arguments.hpp"
#include "kernels/hopper/tensor_map.hpp"

namespace warpgauge::kernels::hopper {
namespace {

constexpr unsigned c_box_rows = 64;

/// TMA takes signed 32-bit coordinates, and the last tile may reach past the last element.
constexpr std::size_t most_elements = 2'147'483'647 - 1024;

void require_extents(const char* launcher, GemmShape shape, const WgmmaLaunch& launch) {
  const unsigned of_k = chunk_bytes / launch.input_bytes;
  const unsigned of_n = chunk_bytes / launch.output_bytes;
  if (shape.k % of_k != 0 || shape.n % of_n != 0) {
    throw std::invalid_argument(describe(launcher, shape) +
                                ": TMA takes rows of whole 16 bytes: k must be a multiple of " +
                                std::to_string(of_k) + ", n of " + std::to_string(of_n));
  }
  if (std::max({shape.m, shape.n, shape.k}) > most_elements) {
    throw std::invalid_argument(describe(launcher, shape) + ": TMA counts to " +
                                std::to_string(most_elements) + " rows or columns");
  }
}

/// The fewest clusters that need no more turns than the most that fit. The last turn is then nearly
/// full, and the unused multiprocessors save power.
unsigned persistent_clusters(unsigned clusters, unsigned at_once) {
  const unsigned turns = (clusters - 1) / at_once + 1;
  return (clusters - 1) / turns + 1;
}

unsigned cluster_blocks(const WgmmaLaunch& launch) {
  return launch.cluster * launch.splits;
}

/// The configuration without its grid. It points to `attributes`.
cudaLaunchConfig_t configuration_of(const WgmmaLaunch& launch, void (*kernel)(WgmmaArguments),
                                    std::array<cudaLaunchAttribute, 2>& attributes) {
  WARPGAUGE_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(launch.shared_bytes)));
  cudaLaunchConfig_t config{};
  config.blockDim = {launch.threads, 1, 1};
  config.dynamicSmemBytes = launch.shared_bytes;
  config.attrs = attributes.data();
  if (cluster_blocks(launch) > 1) {
    cudaLaunchAttribute& cluster = attributes.at(config.numAttrs++);
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {cluster_blocks(launch), 1, 1};
  }
  if (launch.start == Start::early) {
    cudaLaunchAttribute& early = attributes.at(config.numAttrs++);
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
  }
  return config;
}

}  // namespace

Tiles require_wgmma_shape(const WgmmaLaunch& launch, GemmShape shape) {
  const Tiles tiles = tiles_of(launch.launcher, shape.m, shape.n, launch.tile_rows * launch.cluster,
                               launch.tile_columns);
  require_extents(launch.launcher, shape, launch);
  return tiles;
}

Tiles require_wgmma_product(const WgmmaLaunch& launch, const void* a, const void* b, const void* c,
                            GemmShape shape) {
  require_gemm(launch.launcher, a, b, chunk_bytes, shape);
  require_pointer(launch.launcher, "c", c, chunk_bytes);
  const Tiles tiles = require_wgmma_shape(launch, shape);
  require_wgmma(launch.launcher);
  return tiles;
}

unsigned clusters_at_once(const WgmmaLaunch& launch, void (*kernel)(WgmmaArguments)) {
  if (cluster_blocks(launch) == 1) {
    return sm_count();
  }
  // CUDA takes microseconds to answer. A kernel always has the same threads and shared memory.
  static std::mutex mutex;
  static std::map<std::tuple<int, void (*)(WgmmaArguments), unsigned>, unsigned> answers;
  const std::scoped_lock lock(mutex);
  unsigned& answer = answers[{current_device(), kernel, cluster_blocks(launch)}];
  if (answer > 0) {
    return answer;
  }
  std::array<cudaLaunchAttribute, 2> attributes{};
  cudaLaunchConfig_t config = configuration_of(launch, kernel, attributes);
  config.gridDim = {cluster_blocks(launch), 1, 1};
  int clusters = 0;
  WARPGAUGE_CHECK(
      cudaOccupancyMaxActiveClusters(&clusters, reinterpret_cast<const void*>(kernel), &config));
  answer = static_cast<unsigned>(std::max(clusters, 1));
  return answer;
}

void launch_wgmma(const WgmmaLaunch& launch, void (*kernel)(WgmmaArguments), const void* a,
                  const void* b, void* c, GemmShape shape, cudaStream_t stream) {
  if (shape.m == 0 || shape.n == 0) {
    return;
  }
  const Tiles tiles = require_wgmma_product(launch, a, b, c, shape);
  WgmmaArguments arguments{
      .a_map = tensor_map(launch.launcher, a, shape.m, shape.k,
                          launch.a_box_rows > 0 ? launch.a_box_rows : launch.tile_rows,
                          launch.input_bytes),
      .b_map = tensor_map(launch.launcher, b, launch.b_is_k_major ? shape.n : shape.k,
                          launch.b_is_k_major ? shape.k : shape.n, launch.b_box_rows,
                          launch.input_bytes),
      .c_map = tensor_map(launch.launcher, c, shape.m, shape.n, c_box_rows, launch.output_bytes),
      .c = c,
      .m = static_cast<unsigned>(shape.m),
      .n = static_cast<unsigned>(shape.n),
      .k = static_cast<unsigned>(shape.k),
      .tile_rows = tiles.rows * launch.cluster,
      .tile_columns = tiles.columns,
      .split = launch.split};
  unsigned clusters = tiles.blocks();
  if (launch.split.clusters > 0) {
    clusters = launch.split.clusters;
  } else if (launch.persistent) {
    clusters = persistent_clusters(tiles.blocks(), clusters_at_once(launch, kernel));
  }
  std::array<cudaLaunchAttribute, 2> attributes{};
  cudaLaunchConfig_t config = configuration_of(launch, kernel, attributes);
  config.gridDim = {clusters * cluster_blocks(launch), 1, 1};
  config.stream = stream;
  void* parameters[]{&arguments};
  WARPGAUGE_CHECK(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), parameters));
}

}  // namespace warpgauge::kernels::hopper
