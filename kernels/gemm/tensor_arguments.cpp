// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/tensor_arguments.hpp"

#include <stdexcept>
#include <string>

#include "kernels/launch_check.hpp"

namespace warpgauge::kernels {
namespace {

constexpr std::size_t chunk_bytes = 16;

}  // namespace

void require_tensor_gemm(const char* launcher, const void* a, const void* b, const void* c,
                         GemmShape shape) {
  require_gemm(launcher, a, b, chunk_bytes, shape);
  require_pointer(launcher, "c", c, chunk_bytes);
}

bool has_whole_chunks(GemmShape shape, std::size_t element_bytes) {
  const std::size_t elements = chunk_bytes / element_bytes;
  return shape.k % elements == 0 && shape.n % elements == 0;
}

void require_shared_memory(const char* launcher, std::size_t needed, std::size_t present) {
  if (present < needed) {
    throw std::runtime_error(std::string(launcher) + ": needs " + std::to_string(needed) +
                             " bytes of shared memory a block, this device has " +
                             std::to_string(present));
  }
}

void allow_shared_memory(const char* launcher, const void* kernel, unsigned bytes) {
  int device = 0;
  check_status(launcher, cudaGetDevice(&device));
  int present = 0;
  check_status(launcher,
               cudaDeviceGetAttribute(&present, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  require_shared_memory(launcher, bytes, static_cast<std::size_t>(present));
  check_status(launcher, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              static_cast<int>(bytes)));
}

}  // namespace warpgauge::kernels
