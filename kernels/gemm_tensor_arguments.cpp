// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm_tensor_arguments.hpp"

#include <stdexcept>
#include <string>

#include "kernels/launch_check.hpp"

namespace warpgauge::kernels {
namespace {

constexpr std::size_t chunk_bytes = 16;

}  // namespace

TensorTiles tensor_tiles(const char* launcher, GemmShape shape, unsigned tile_m, unsigned tile_n) {
  const std::size_t rows = (shape.m - 1) / tile_m + 1;
  const std::size_t columns = (shape.n - 1) / tile_n + 1;
  if (rows > max_grid_blocks / columns) {
    throw std::invalid_argument(
        std::string(launcher) + ": m=" + std::to_string(shape.m) + " n=" + std::to_string(shape.n) +
        " k=" + std::to_string(shape.k) + " has more than " + std::to_string(max_grid_blocks) +
        " output tiles of " + std::to_string(tile_m) + " x " + std::to_string(tile_n));
  }
  return {static_cast<unsigned>(rows * columns), rows, columns};
}

void require_tensor_gemm(const char* launcher, const void* a, const void* b, const void* c,
                         GemmShape shape) {
  require_gemm(launcher, a, b, chunk_bytes, shape);
  require_pointer(launcher, "c", c, chunk_bytes);
}

bool has_whole_chunks(GemmShape shape, std::size_t element_bytes) {
  const std::size_t elements = chunk_bytes / element_bytes;
  return shape.k % elements == 0 && shape.n % elements == 0;
}

void require_ampere(const char* launcher) {
  int device = 0;
  int major = 0;
  check_status(launcher, cudaGetDevice(&device));
  check_status(launcher, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  if (major < 8) {
    throw std::runtime_error(std::string(launcher) +
                             ": needs compute capability 8.0, this device has " +
                             std::to_string(major) + ".x");
  }
}

void allow_shared_memory(const char* launcher, const void* kernel, unsigned bytes) {
  check_status(launcher, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              static_cast<int>(bytes)));
}

}  // namespace warpgauge::kernels
